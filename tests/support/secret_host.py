"""A host that wants a secret, for tests of credentials: https for web.example on a port of the
loopback, with an authority of its own.

  secret_host.py DIRECTORY

DIRECTORY/roots.pem is the machine's authorities and this one. DIRECTORY/seen has a line for every
request: PATH AUTHORIZATION. A request for /slow is answered when DIRECTORY/go is there. Says its
port."""
import http.server, os, ssl, subprocess, sys, time

os.chdir(sys.argv[1])
KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


openssl("req", "-x509", *KEY, "-keyout", "root.key", "-out", "root.pem", "-days", "2",
        "-subj", "/CN=Test root", "-addext", "keyUsage=critical,keyCertSign")
with open("host.ext", "w") as file:
    file.write("subjectAltName=DNS:web.example\nbasicConstraints=CA:FALSE\n")
openssl("req", *KEY, "-keyout", "host.key", "-out", "host.csr", "-subj", "/CN=web.example")
openssl("x509", "-req", "-in", "host.csr", "-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial",
        "-days", "2", "-extfile", "host.ext", "-out", "host.pem")
with open("roots.pem", "w") as roots:
    for path in ("/etc/ssl/certs/ca-certificates.crt", "root.pem"):
        with open(path) as some:
            roots.write(some.read())
seen = open("seen", "a", buffering=1)


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        seen.write(f"{self.path} {self.headers.get('Authorization', '-')}\n")
        while self.path == "/slow" and not os.path.exists("go"):
            time.sleep(0.01)
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("host.pem", "host.key")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
server.socket = context.wrap_socket(server.socket, server_side=True)
os.write(1, b"port %d.\n" % server.server_address[1])
server.serve_forever()
