"""The network of egress_lab.h: every address of the world leads here. A few of them are servers, a
name server knows names for them, and whoever connects to any other has met a canary.

What the servers see is appended to DIRECTORY/log, one line each:
  dns NAME TYPE | sni NAME | request ADDRESS:PORT METHOD TARGET HOST | raw BYTES |
  hit ADDRESS:PORT | sync
SIGUSR1 asks for a `sync`, which stands behind everything that had happened by then."""
import asyncio, base64, hashlib, os, signal, socket, ssl, struct, subprocess, sys

DIRECTORY = sys.argv[1]
FIRST, SECOND, STALLED, RAW = ("93.184.216.34", "93.184.216.35", "93.184.216.36", "93.184.216.37")
FIRST_V6 = "2606:2800:220:1::34"

NAMES = {
    "api.example.com": [FIRST],
    "a.wild.example.com": [FIRST],
    "b.wild.example.com": [SECOND],
    "two.example.com": [SECOND],
    "stalled.example.com": [STALLED],
    "raw.example.com": [RAW],
    "v6.example.com": [FIRST_V6],
    "rebind.example.com": None,  # by turns FIRST and 127.0.0.1
    "alias.example.com": "private10.example.com",
    "mixed.example.com": [FIRST, "127.0.0.1"],
    "mixed6.example.com": [FIRST, "::1"],
    "loopback.example.com": ["127.0.0.1"],
    "loopback2.example.com": ["127.9.9.9"],
    "zero.example.com": ["0.0.0.0"],
    "private10.example.com": ["10.0.0.5"],
    "private172.example.com": ["172.16.0.5"],
    "private192.example.com": ["192.168.7.7"],
    "metadata.example.com": ["169.254.169.254"],
    "alibaba.example.com": ["100.100.100.200"],
    "cgnat.example.com": ["100.64.0.9"],
    "measure.example.com": ["198.18.0.2"],
    "documents.example.com": ["203.0.113.7"],
    "multicast.example.com": ["224.0.0.1"],
    "reserved.example.com": ["240.0.0.1"],
    "broadcast.example.com": ["255.255.255.255"],
    "loopback6.example.com": ["::1"],
    "any6.example.com": ["::"],
    "mapped.example.com": ["::ffff:127.0.0.1"],
    "compatible.example.com": ["::7f00:1"],
    "nat64.example.com": ["64:ff9b::a9fe:a9fe"],
    "sixtofour.example.com": ["2002:7f00:1::"],
    "teredo.example.com": ["2001:0:7f00:1::"],
    "local6.example.com": ["fd00:ec2::254"],
    "link6.example.com": ["fe80::5"],
}
turns = 0
record = open(DIRECTORY + "/log", "a", buffering=1)


def log(*words):
    record.write(" ".join(str(word) for word in words) + "\n")


def place(writer):
    address = writer.get_extra_info("sockname")
    return f"{address[0]}:{address[1]}"


# ---- Names


class NameServer(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, query, sender):
        global turns
        at, labels = 12, []
        while query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode("latin-1"))
            at += query[at] + 1
        (kind,) = struct.unpack(">H", query[at + 1 : at + 3])
        name = ".".join(labels).lower()
        log("dns", name, kind)
        answers, owner = [], b"\xc0\x0c"
        addresses = NAMES.get(name, ())
        if isinstance(addresses, str):
            alias = b"".join(bytes([len(p)]) + p.encode() for p in addresses.split(".")) + b"\0"
            answers.append(owner + struct.pack(">HHIH", 5, 1, 60, len(alias)) + alias)
            addresses, owner = NAMES[addresses], alias
        elif addresses is None:
            turns += kind == 1
            addresses = [FIRST if turns % 2 else "127.0.0.1"]
        for address in addresses:
            if (":" in address) != (kind == 28):
                continue
            packed = socket.inet_pton(socket.AF_INET6 if kind == 28 else socket.AF_INET, address)
            answers.append(owner + struct.pack(">HHIH", kind, 1, 0, len(packed)) + packed)
        flags = 0x8180 | (0 if name in NAMES else 3)
        head = query[:2] + struct.pack(">HHHHH", flags, 1, len(answers), 0, 0)
        self.transport.sendto(head + query[12 : at + 5] + b"".join(answers), sender)


class UdpCanary(asyncio.DatagramProtocol):
    def __init__(self, port):
        self.port = port

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, sender):
        log("hit", f"udp:{self.port}")
        self.transport.sendto(b"canary", sender)


# ---- Servers


async def read_body(reader, fields):
    if fields.get("transfer-encoding") == "chunked":
        body = b""
        while True:
            size = int(await reader.readuntil(b"\r\n"), 16)
            body += (await reader.readexactly(size + 2))[:-2]
            if size == 0:
                return body
    return await reader.readexactly(int(fields.get("content-length", 0)))


async def echo_frames(reader, writer, key):
    accept = hashlib.sha1(key.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
    writer.write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + base64.b64encode(accept) + b"\r\n\r\n"
    )
    while True:
        kind, size = await reader.readexactly(2)
        size &= 0x7F
        if size == 126:
            (size,) = struct.unpack(">H", await reader.readexactly(2))
        mask = await reader.readexactly(4)
        text = bytes(c ^ mask[i % 4] for i, c in enumerate(await reader.readexactly(size)))
        head = bytes([kind, size]) if size < 126 else struct.pack(">BBH", kind, 126, size)
        writer.write(head + text)
        if kind & 0x0F == 8:
            return


async def serve_http(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head[:-4].decode("latin-1").split("\r\n")
            method, target, _ = lines[0].split(" ")
            fields = {}
            for line in lines[1:]:
                name, value = line.split(":", 1)
                fields[name.lower()] = value.strip()
            log("request", place(writer), method, target, fields.get("host"))
            if "upgrade" in fields and target == "/socket":
                return await echo_frames(reader, writer, fields["sec-websocket-key"])
            if target == "/close":
                return
            if target == "/stall":
                await asyncio.sleep(3600)
            if fields.get("expect") == "100-continue":
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            body = await read_body(reader, fields)
            status, more, answer = "200 OK", "", body
            file = DIRECTORY + "/www" + target.split("?")[0]
            if target.startswith("/redirect"):
                to = {
                    "/redirect": "http://169.254.169.254/latest/meta-data/",
                    "/redirect-name": "http://metadata.example.com/latest/meta-data/",
                    "/redirect-other": "http://two.example.com/",
                    "/redirect-same": "/same",
                }[target]
                status, more, answer = "302 Found", f"Location: {to}\r\n", b""
            elif target.startswith("/bytes/"):
                answer = b"x" * int(target[7:])
            elif target.startswith("/repo.git/"):
                if os.path.isfile(file):
                    answer = open(file, "rb").read()
                else:
                    status, answer = "404 Not Found", b""
            elif method in ("GET", "HEAD"):
                answer = f"hello {fields.get('host')} {target}\n".encode()
            if target in ("/chunked", "/trailers"):
                more += "Transfer-Encoding: chunked\r\n"
                answer = b"6\r\nhello \r\n8\r\nchunked\n\r\n0\r\n"
                answer += b"\r\n" if target == "/chunked" else b"Trailer-Of: lab\r\n\r\n"
            else:
                more += f"Content-Length: {len(answer)}\r\n"
            writer.write(f"HTTP/1.1 {status}\r\n{more}\r\n".encode())
            if method != "HEAD":
                writer.write(answer)
            await writer.drain()
            if fields.get("connection") == "close":
                return
    except (asyncio.IncompleteReadError, ConnectionError, ValueError, KeyError):
        pass
    finally:
        writer.close()


# Says first who it is, as the servers of many protocols do, and then what it is told.
async def serve_echo(reader, writer):
    log("hit", place(writer))
    try:
        writer.write(b"welcome\n")
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    writer.close()


async def serve_stalled(reader, writer):
    await asyncio.sleep(3600)


# The most lenient server there is: whatever looks like a request somewhere is one.
async def serve_raw(reader, writer):
    try:
        while data := await reader.read(65536):
            log("raw", data)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nraw\n")
            if b"smuggled" in data:
                break
    except ConnectionError:
        pass
    writer.close()


async def serve_canary(reader, writer):
    log("hit", place(writer))
    try:
        await asyncio.wait_for(reader.read(1), 1)
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 7\r\n\r\ncanary\n")
        await writer.drain()
    except (ConnectionError, asyncio.TimeoutError):
        pass
    writer.close()


async def serve_canary_at_name(reader, writer):
    log("hit", "@egress-lab")
    writer.close()


def make_certificate():
    def openssl(*words):
        subprocess.run(("openssl",) + words, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    own = DIRECTORY + "/"
    authority = ("-keyout", own + "ca.key", "-out", own + "public/ca.pem")
    openssl("req", "-x509", *key, *authority, "-subj", "/CN=Egress lab")
    names = "DNS:*.example.com,DNS:*.wild.example.com"
    openssl(
        *("req", "-x509", "-CA", own + "public/ca.pem", "-CAkey", own + "ca.key", *key),
        *("-keyout", own + "server.key", "-out", own + "server.pem", "-subj", "/CN=api.example.com"),
        *("-addext", "subjectAltName=" + names),
    )


async def main():
    make_certificate()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(DIRECTORY + "/server.pem", DIRECTORY + "/server.key")
    tls.sni_callback = lambda connection, name, context: log("sni", name)
    loop = asyncio.get_running_loop()

    async def serve(handler, addresses, port, secure=None):
        # The most specific address wins: canaries listen behind everything.
        await asyncio.start_server(handler, addresses, port, ssl=secure, reuse_port=True,
                                   backlog=1024)

    for address in (FIRST, SECOND, FIRST_V6):
        await serve(serve_http, address, 80)
        await serve(serve_http, address, 443, tls)
    for port in (7000, 5432):
        await serve(serve_echo, FIRST, port)
    for port in (80, 443, 7000):
        await serve(serve_stalled, STALLED, port)
    await serve(serve_raw, RAW, 80)
    for port in (22, 53, 80, 443, 8080):
        await serve(serve_canary, ("0.0.0.0", "::"), port)
    await loop.create_datagram_endpoint(NameServer, local_addr=("127.0.0.1", 53), reuse_port=True)
    for port in (53, 443):
        await loop.create_datagram_endpoint(
            lambda port=port: UdpCanary(port), local_addr=("0.0.0.0", port), reuse_port=True)

    # An abstract name of the namespace that sallyport itself runs in.
    await asyncio.start_unix_server(serve_canary_at_name, "\0egress-lab")

    # Whatever was ready when the signal came has been served a few turns of the loop later.
    async def sync():
        for _ in range(5):
            await asyncio.sleep(0)
        log("sync")

    loop.add_signal_handler(signal.SIGUSR1, lambda: loop.create_task(sync()))
    print("ready", flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
