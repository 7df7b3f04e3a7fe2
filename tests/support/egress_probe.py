"""Connects and sends what it is told on stdin, many at once, and says what came back. As it
stands here it runs in a cell and, for the twin, outside of one.

  [{"label": …, "host": …, "port": …, "send": [HEX, …]   in as many segments
    or "hello": NAME, "as": plain, segments, bytes, records, ech, twice, named:HEX
    "first": HEX   before the hello; its answer is waited for}, …]
  {LABEL: {"got": what was answered, "error": NAME of the errno, "ms": …}, …}"""
import concurrent.futures, errno, json, socket, ssl, struct, sys, time

PATIENCE = 20  # seconds; nothing here waits for long


# A hello as a real client makes it.
def client_hello(name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    connection = context.wrap_bio(incoming, outgoing, server_hostname=name or None)
    try:
        connection.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


# With its lengths made right again.
def record(body):
    message = b"\x01" + struct.pack(">I", len(body))[1:] + body
    return b"\x16\x03\x01" + struct.pack(">H", len(message)) + message


def with_extensions(hello, change):
    body = hello[9:]
    at = 34
    at += 1 + body[at]
    at += 2 + struct.unpack(">H", body[at : at + 2])[0]
    at += 1 + body[at]
    extensions = change(body[at + 2 :])
    return record(body[:at] + struct.pack(">H", len(extensions)) + extensions)


def renamed(extensions, name):
    out = b""
    while extensions:
        kind, size = struct.unpack(">HH", extensions[:4])
        entry, extensions = extensions[4 : 4 + size], extensions[4 + size :]
        if kind == 0:
            entry = struct.pack(">HBH", len(name) + 3, 0, len(name)) + name
        out += struct.pack(">HH", kind, len(entry)) + entry
    return out


def pieces_of(probe):
    if "hello" not in probe:
        return [bytes.fromhex(piece) for piece in probe["send"]]
    hello, shape = client_hello(probe["hello"]), probe.get("as", "plain")
    if shape == "segments":
        return [hello[i : i + 60] for i in range(0, len(hello), 60)]
    if shape == "bytes":
        return [hello[i : i + 1] for i in range(12)] + [hello[12:]]
    if shape == "records":
        parts = [hello[5:][i : i + 60] for i in range(0, len(hello) - 5, 60)]
        return [b"".join(b"\x16\x03\x01" + struct.pack(">H", len(p)) + p for p in parts)]
    if shape == "ech":
        return [with_extensions(hello, lambda all: all + b"\xfe\x0d\x00\x01\x00")]
    if shape == "twice":
        return [with_extensions(hello, lambda all: all + renamed(b"\0\0\0\0", b"evil.example.com"))]
    if shape.startswith("named:"):
        return [with_extensions(hello, lambda all: renamed(all, bytes.fromhex(shape[6:])))]
    return [hello]


def attempt(probe):
    begin, got, error = time.monotonic(), b"", ""
    try:
        with socket.create_connection((probe["host"], probe["port"]), PATIENCE) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if "first" in probe:
                connection.sendall(bytes.fromhex(probe["first"]))
                while not got.endswith(b"\r\n\r\n"):
                    more = connection.recv(65536)
                    if not more:
                        raise OSError(errno.EPIPE, "")
                    got += more
            for i, piece in enumerate(pieces_of(probe)):
                if i:
                    time.sleep(0.01)
                connection.sendall(piece)
            while more := connection.recv(65536):
                got += more
                if "hello" in probe:
                    break
    except OSError as failure:
        error = errno.errorcode.get(failure.errno, type(failure).__name__)
    return {
        "got": got.decode("latin-1"),
        "error": error,
        "ms": int((time.monotonic() - begin) * 1000),
    }


def main():
    probes = json.load(sys.stdin)
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        answers = pool.map(attempt, probes)
        json.dump({p["label"]: a for p, a in zip(probes, answers)}, sys.stdout)


main()
