"""Not a Vault: a double that speaks as much of its HTTP API as Sallyport uses, for tests on machines
without one. It was written from the public API documentation (KV version 2, database secrets,
sys/leases), and proves what our side says and takes, not what a real server does.

  vault_double.py DIRECTORY [CERTIFICATE KEY]

DIRECTORY/state.json says what it knows, and is read for every request:
  token      the token that it knows
  kv         secrets of version 2 by path below secret/data/: {"app": {"field": "value"}}
  role       {"lease": seconds, "renewable": bool, "renewed": seconds} of database/creds/app;
             every read makes a user of its own, password-1, password-2 ...
  fault      "500", "drop" (the connection), "garbage", "huge" or "redirect" in place of answers
DIRECTORY/log has a line for every request: METHOD PATH NAMESPACE BODY. Prints its port."""
import http.server, json, os, ssl, sys

DIRECTORY = sys.argv[1]
record = open(os.path.join(DIRECTORY, "log"), "a", buffering=1)
made = 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, value, headers=()):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in headers:
            self.send_header(name, text)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def lease(self, role, identity, seconds):
        return {"lease_id": identity, "lease_duration": seconds, "renewable": role["renewable"], "data": None}

    def serve(self):
        global made
        with open(os.path.join(DIRECTORY, "state.json")) as file:
            state = json.load(file)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        record.write(f"{self.command} {self.path} {self.headers.get('X-Vault-Namespace', '-')} {body}\n")
        fault = state.get("fault")
        if fault == "500":
            return self.answer(500, {"errors": ["it is\nbroken"]})
        if fault == "drop":
            self.close_connection = True
            return self.connection.close()
        if fault == "garbage":
            return self.answer(200, b'{"data": {"token": "half')
        if fault == "huge":
            return self.answer(200, b'"' + b"x" * 600_000 + b'"')
        if fault == "redirect":
            return self.answer(307, {}, [("Location", "http://169.254.169.254/")])
        if self.headers.get("X-Vault-Token") != state["token"]:
            return self.answer(403, {"errors": ["permission denied"]})
        role = state.get("role", {})
        if self.command == "GET" and self.path.startswith("/v1/secret/data/"):
            secret = state.get("kv", {}).get(self.path.removeprefix("/v1/secret/data/"))
            if secret is None:
                return self.answer(404, {"errors": []})
            data = {"data": secret, "metadata": {"version": 1, "destroyed": False}}
            return self.answer(200, {"lease_id": "", "lease_duration": 0, "renewable": False, "data": data})
        if self.command == "GET" and self.path == "/v1/database/creds/app" and role:
            made += 1
            answer = self.lease(role, f"database/creds/app/{made}", role["lease"])
            answer["data"] = {"username": f"user-{made}", "password": f"password-{made}"}
            return self.answer(200, answer)
        if self.command == "PUT" and self.path == "/v1/sys/leases/renew":
            if not role.get("renewed"):
                return self.answer(400, {"errors": ["lease is not renewable"]})
            return self.answer(200, self.lease(role, json.loads(body)["lease_id"], role["renewed"]))
        if self.command == "PUT" and self.path == "/v1/sys/leases/revoke":
            return self.answer(204, b"")
        return self.answer(404, {"errors": []})

    do_GET = do_PUT = serve


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
os.write(1, b"%d\n" % server.server_address[1])  # at once, whatever Python does with its output
server.serve_forever()
