"""A small internet for tests of inspected TLS: a name server and https hosts, each with a
certificate of its own kind, in the network namespace that it is started in.

    inspect_lab.py DIRECTORY

It is started as root, with a network and mounts of its own, which it changes: the lab's name server
is asked, and the authority of its hosts is trusted. DIRECTORY is empty. Says "up" when all of it is
served."""
import base64
import gzip
import http.server
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading
import urllib.parse

ADDRESS = "93.184.216.34"
DIRECTORY = sys.argv[1]
os.chdir(DIRECTORY)


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def do(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def make_certificate(host, name, days):
    """For `host`, by the lab's authority, made out to `name`."""
    with open(host + ".ext", "w") as file:
        file.write("subjectAltName=DNS:%s\nbasicConstraints=CA:FALSE\n" % name)
    openssl("req", *KEY, "-keyout", host + ".key", "-out", host + ".csr", "-subj", "/CN=" + name)
    openssl("x509", "-req", "-in", host + ".csr", "-CA", "root.pem", "-CAkey", "root.key",
            "-CAcreateserial", "-days", str(days), "-extfile", host + ".ext",
            "-out", host + ".pem")


openssl("req", "-x509", *KEY, "-keyout", "root.key", "-out", "root.pem", "-days", "2",
        "-subj", "/CN=Lab root", "-addext", "keyUsage=critical,keyCertSign")
make_certificate("api.example.com", "api.example.com", 2)
make_certificate("deep.api.example.com", "deep.api.example.com", 2)
make_certificate("second.example.com", "second.example.com", 2)
make_certificate("wrong.example.com", "other.example.com", 2)
make_certificate("expired.example.com", "expired.example.com", -1)
openssl("req", "-x509", *KEY, "-keyout", "self.example.com.key", "-out", "self.example.com.pem",
        "-days", "2", "-subj", "/CN=self.example.com", "-addext",
        "subjectAltName=DNS:self.example.com")
with open("roots.pem", "w") as all_roots:
    for path in ("/etc/ssl/certs/ca-certificates.crt", "root.pem"):
        with open(path) as some:
            all_roots.write(some.read())
with open("resolv.conf", "w") as file:
    file.write("nameserver 127.0.0.1\n")
do("mount", "--bind", "resolv.conf", "/etc/resolv.conf")
do("mount", "--bind", "roots.pem", "/etc/ssl/certs/ca-certificates.crt")
do("ip", "link", "set", "lo", "up")
do("ip", "address", "add", ADDRESS + "/32", "dev", "lo")

do("git", "init", "-q", "-b", "main", "repo")
with open("repo/hello.txt", "w") as file:
    file.write("from a repository\n")
do("git", "-C", "repo", "add", "hello.txt")
do("git", "-C", "repo", "-c", "user.name=lab", "-c", "user.email=lab@example.com", "commit", "-qm",
   "one")
do("git", "clone", "-q", "--bare", "repo", "files/repo.git")
do("git", "-C", "files/repo.git", "update-server-info")

HOSTS = ["api.example.com", "deep.api.example.com", "second.example.com", "wrong.example.com",
         "expired.example.com", "self.example.com"]


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    last = ""

    def __init__(self, *words):
        super().__init__(*words, directory=os.path.join(DIRECTORY, "files"))

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def tell(self, way):
        """What came, said back in one of many ways: what a careless host does with a secret."""
        text = "%s\n%s" % (self.path, self.headers)
        token = self.headers.get("Authorization", "none").split(" ")[-1]
        if way == "last":
            return self.answer(Handler.last.encode())
        Handler.last = self.headers.get("Authorization", "none")
        if way == "base64":
            return self.answer(base64.b64encode(text.encode()))
        if way == "lines":
            return self.answer(base64.encodebytes(text.encode()))
        if way == "wide":
            return self.answer(text.encode("utf-16"))
        if way == "percent":
            return self.answer("".join("%%%02X" % byte for byte in text.encode()).encode())
        if way == "hex":
            return self.answer(text.encode().hex().encode())
        if way == "url":
            return self.answer(urllib.parse.quote(text).encode())
        if way == "gzip":
            body = gzip.compress(text.encode())
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            return self.wfile.write(body)
        if way == "chunks":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for byte in text.encode():
                self.wfile.write(b"1\r\n%c\r\n" % byte)
            return self.wfile.write(b"0\r\n\r\n")
        if way == "header":
            self.send_response(302)
            self.send_header("Set-Cookie", "t=" + token)
            self.send_header("Location", "https://second.example.com/tell/raw?t=" + token)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        return self.answer(text.encode())

    def do_GET(self):
        with open(os.path.join(DIRECTORY, "seen"), "a") as seen:
            seen.write("%s %s %s\n%s" % (self.headers.get("Host"), self.command, self.path,
                                        self.headers))
        if self.headers.get("Upgrade") == "websocket":
            return self.echo()
        if self.path.startswith("/private/"):
            words = "lab:" + open(os.path.join(DIRECTORY, "password")).read()
            if self.headers.get("Authorization") != "Basic " + base64.b64encode(
                    words.encode()).decode():
                self.send_response(401)
                self.send_header("WWW-Authenticate", "Basic realm=lab")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            self.path = self.path[len("/private"):]
            return super().do_GET()
        if self.path.startswith("/tell/"):
            return self.tell(self.path[len("/tell/"):].split("?")[0])
        if self.path.startswith("/files/"):
            self.path = self.path[len("/files"):]
            return super().do_GET()
        if self.path.startswith("/big/"):
            return self.answer(b"x" * int(self.path.rsplit("/", 1)[1]))
        if self.path == "/until-end":
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"until the end\n")
            self.close_connection = True
            return None
        text = "%s %s for %s\n" % (self.command, self.path, self.headers.get("Host"))
        return self.answer(text.encode())

    def do_DELETE(self):
        self.answer(b"deleted\n")

    def do_POST(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(b"got %d: " % len(body) + body[:100])

    def echo(self):
        self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                         b"Connection: Upgrade\r\n\r\n")
        if "Authorization" in self.headers:
            self.wfile.write(self.headers["Authorization"].encode() + b"\n")
        while piece := self.rfile.read1(100):
            self.wfile.write(piece.upper())
        self.close_connection = True

    def log_message(self, *words):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *words):
        pass

    def get_request(self):
        connection, address = super().get_request()
        connection.settimeout(30)
        return connection, address

    def finish_request(self, request, client):
        # In the thread of the connection: a client that says nothing holds up no other.
        with context_of[HOSTS[0]].wrap_socket(request, server_side=True) as secure:
            self.RequestHandlerClass(secure, client, self)


context_of = {}
for host in HOSTS:
    context_of[host] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context_of[host].load_cert_chain(host + ".pem", host + ".key")


def choose(connection, name, _):
    if name not in context_of:
        return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
    connection.context = context_of[name]
    return None


context_of[HOSTS[0]].sni_callback = choose
for port in (443, 8443):
    server = Server((ADDRESS, port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
names.bind(("127.0.0.1", 53))


def answer_names():
    while True:
        question, sender = names.recvfrom(512)
        at, labels = 12, []
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode())
            at += question[at] + 1
        kind, = struct.unpack(">H", question[at + 1:at + 3])
        known = ".".join(labels).lower() in HOSTS
        record = b""
        if known and kind == 1:
            record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(ADDRESS)
        names.sendto(question[:2] + (b"\x81\x80" if known else b"\x81\x83") + b"\0\1" +
                     struct.pack(">H", 1 if record else 0) + b"\0\0\0\0" + question[12:at + 5] +
                     record, sender)


threading.Thread(target=answer_names, daemon=True).start()
print("up", flush=True)
threading.Event().wait()
