# What a warm Python is. Started in a template, it imports the modules that it is asked for and waits; its image is
# taken there. In a cell it goes on from that place, makes itself different from every other copy, and waits for its
# order: one script, which then runs as `python3 -B SCRIPT` (or `-c CODE`) would have run it.
#
# Over descriptor 3: "T" (an image may be taken), "r" or any other byte (this is a copy, which rehearses or not), "R"
# (ready for the order), the order (see cell/late.h). "E" and a sentence: it cannot be a template.
import sys


def _sallyport():
    import _signal, atexit, gc, os, time

    order, preload = 3, sys.argv[1:]
    after_fork = []
    register = os.register_at_fork

    # What modules would do in a forked child is what a copy needs, too: it has the same memory and another life.
    def register_at_fork(*, before=None, after_in_child=None, after_in_parent=None):
        if after_in_child is not None:
            after_fork.append(after_in_child)
        hooks = dict(before=before, after_in_child=after_in_child, after_in_parent=after_in_parent)
        register(**{name: hook for name, hook in hooks.items() if hook is not None})

    def refuse(sentence):
        os.write(order, b"E" + sentence.encode("utf-8", "replace")[:400])
        os._exit(1)

    # One that was waited for may take a moment to go.
    def has_threads():
        for _ in range(100):
            if len(os.listdir("/proc/self/task")) == 1:
                return False
            time.sleep(0.002)
        return True

    os.register_at_fork = register_at_fork
    for name in preload:
        try:
            __import__(name)
        except BaseException as error:
            refuse("the module %s cannot be imported: %s: %s" % (name, type(error).__name__, error))
        if has_threads():
            refuse("the module %s starts threads" % name)
        left = set(os.listdir("/proc/self/fd")) - {"0", "1", "2", "3"}
        # The one with which the directory was listed is gone by now.
        if any(os.path.lexists("/proc/self/fd/" + number) for number in left):
            refuse("the module %s keeps a file open" % name)
    os.register_at_fork = register

    modules = sys.modules

    def parse(data):
        at = 4

        def number():
            nonlocal at
            at += 4
            return int.from_bytes(data[at - 4 : at], "little")

        def words():
            nonlocal at
            found = []
            for _ in range(number()):
                size = number()
                found.append(data[at : at + size])
                at += size
            return found

        return words(), words()

    def listed_environment():
        return [name + b"=" + value for name, value in os.environb.items()]

    # What this process has already, and an order begins with. To set it anew takes longer than most of what follows.
    inherited = []

    def set_environment(environment):
        if environment[: len(inherited)] == inherited:
            more = environment[len(inherited) :]
        else:
            os.environ.clear()
            more = environment
        for pair in more:
            name, _, value = pair.partition(b"=")
            os.environb[name] = value
        if more:
            time.tzset()

    def prepare(command, environment):
        set_environment(environment)
        command = [os.fsdecode(word) for word in command]
        sys.argv[:] = command
        sys.orig_argv[1:] = ["-B"] + command
        sys.path[0] = os.path.dirname(command[0])
        main = type(sys)("__main__")
        main.__builtins__ = modules["builtins"]
        main.__annotations__ = {}
        if command[0] == "-c":
            main.__loader__ = modules["_frozen_importlib"].BuiltinImporter
            del sys.argv[1]
        else:
            main.__loader__ = modules["_frozen_importlib_external"].SourceFileLoader("__main__", command[0])
            main.__file__ = command[0]
            main.__cached__ = None
        modules["__main__"] = main
        return command, main

    # The first frame of a trace is one of this program.
    def without_us(error):
        trace = error.__traceback__
        return error.with_traceback(trace.tb_next if trace is not None else None)

    def report(error):
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
        try:
            sys.excepthook(type(error), error, error.__traceback__)
            return
        except BaseException as caught:
            other = without_us(caught)
        print("Error in sys.excepthook:", file=sys.stderr)
        sys.__excepthook__(type(other), other, other.__traceback__)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, error.__traceback__)

    def exit_code(value):
        if value is None:
            return 0
        if isinstance(value, int):
            return value & 0xFF if -(2**63) <= value < 2**63 else 255
        print(value, file=sys.stderr)
        return 1

    interrupted = 256

    def run(command, main):
        try:
            if command[0] == "-c":
                name, text = "<string>", os.fsencode(command[1])
            else:
                name = command[0]
                with open(name, "rb", 0) as file:
                    text = file.read()
            exec(compile(text, name, "exec", dont_inherit=True), main.__dict__)
            return 0
        except SystemExit as stop:
            return exit_code(stop.code)
        except BaseException as caught:
            error = without_us(caught)
        report(error)
        return interrupted if isinstance(error, KeyboardInterrupt) else 1

    # What was written is written, or somebody hears of it, once.
    lost = []

    def flush(code):
        for stream in (sys.stdout, sys.stderr):
            try:
                if stream is not None and stream not in lost and not stream.closed:
                    stream.flush()
            except BaseException as error:
                code = 120
                lost.append(stream)
                if stream is sys.stdout:
                    text = "Exception ignored in: %r\n%s: %s\n" % (stream, type(error).__name__, error)
                    sys.stderr.write(text)
        return code

    # As the end of an interpreter does, without taking apart what nobody will see: scripts leave buffered files open.
    # Modules stand in the order in which they came. Whoever looks at one of the first `known` writes to its page.
    def clean(known, code):
        code = flush(code)
        newest, count = reversed(modules), len(modules) - known
        for name in ["__main__"] + [next(newest) for _ in range(max(count, 0))]:
            module = modules.get(name)
            if type(module) is type(sys) and not hasattr(module, "__path__"):
                module.__dict__.clear()
        gc.collect()
        return flush(code)

    # A script uses the parser, the compiler and a bit of everything: what that builds once is built in the template. A
    # copy does the little that every script does, and so has the pages of its own that each would wait for.
    sample = (
        b"import json, math, re\n"
        b"class A:\n    def __init__(self, a=1, *b, **c):\n        self.a = a\n"
        b"def f(n):\n    return [str(i) for i in range(n) if i % 2] or {'a': (1, 2.5)}\n"
        b"try:\n    f(4)[9]\nexcept IndexError as e:\n    s = f'{e!r:>10}' + '%d' % len(f(3))\n"
        b"with open('/dev/null', 'w') as g:\n    print(1, 'a', 2.5, f(3), file=g)\n"
        b"print(end='')\n"
        b"A(1, 2, k=3).a += sum(x for x in (1, 2, 3)) ** 2\n"
        b"d = json.loads(json.dumps({'a': [1, None, 'x']})); math.sqrt(2.0); re.sub('a+', 'b', 'caat')\n"
    )

    def rehearse(script):
        def listed(words):
            return b"".join([len(words).to_bytes(4, "little")] + [len(w).to_bytes(4, "little") + w for w in words])

        environment = listed_environment()
        run(*prepare([b"/dev/null"], environment))
        run(*prepare(*parse(bytes(4) + listed([b"-c", script]) + listed(environment))))
        if atexit._ncallbacks() == 0:
            atexit._run_exitfuncs()
        clean(len(modules), 0)
        return os._exit, os.close  # looked up, as at the end

    rehearse(sample)
    # Of the environment, what every order begins with, in its order. The rest was for the start.
    usual = [(name, os.environb[name]) for name in (b"PATH", b"HOME", b"LANG") if name in os.environb]
    os.environ.clear()
    os.environb.update(usual)
    handlers = [(n, _signal.getsignal(n)) for n in range(1, _signal.NSIG)]
    handlers = [(n, h) for n, h in handlers if h is not None and h != _signal.SIG_DFL]
    sys.stdout.flush()
    sys.stderr.flush()
    gc.collect()
    gc.freeze()
    os.write(order, b"T")
    rehearses = os.read(order, 1) == b"r"

    # From here on in a copy.
    for number, handler in handlers:
        _signal.signal(number, handler)
    for hook in after_fork:
        hook()
    if "random" in modules:
        modules["random"].seed()
    if "numpy.random" in modules:
        modules["numpy.random"].seed()
    if "ssl" in modules:
        modules["ssl"].RAND_add(os.urandom(64), 64.0)
    if "tempfile" in modules:
        modules["tempfile"]._name_sequence = None
    if "uuid" in modules:
        modules["uuid"]._node = modules["uuid"]._last_timestamp = None
    inherited += listed_environment()
    time.tzset()
    if rehearses:
        rehearse(b"def f(n):\n    return f'{n + 1} %s' % [n]\nprint(f(1)[:0], end='')\n")
    known = len(modules)
    os.write(order, b"R")

    # It mostly comes at once, behind the four bytes of its size.
    data, size = b"", 4
    while len(data) < size:
        piece = os.read(order, 4096)
        if not piece:
            os._exit(1)
        data += piece
        if len(data) >= 4:
            size = 4 + int.from_bytes(data[:4], "little")
    words = parse(data)
    os.close(order)
    code = run(*prepare(*words))
    try:
        if "threading" in modules:
            modules["threading"]._shutdown()
        atexit._run_exitfuncs()
        code = clean(known, code)
    except BaseException:
        code = code or 120
    if code == interrupted:  # it ends by the signal, as whoever waits for it expects
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        os.kill(os.getpid(), _signal.SIGINT)
    os._exit(code)


_sallyport()
