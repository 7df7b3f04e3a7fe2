// What make_nets wrote, as it is.
__asm__(
    ".section .rodata\n"
    ".balign 16\n"
    ".global sallyport_ready_nets\n"
    "sallyport_ready_nets:\n"
    ".incbin \"" SALLYPORT_READY_NETS
    "\"\n"
    ".global sallyport_ready_nets_end\n"
    "sallyport_ready_nets_end:\n"
    ".byte 0\n"
    ".previous\n");
