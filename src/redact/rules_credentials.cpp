// Secrets of no one service: keys, hashes, connection strings, headers, assignments.
#include "redact/rule.h"
#include "redact/rule_parts.h"

namespace sallyport {
namespace {

using enum RuleKind;
using namespace check;

constexpr RedactionRule kRules[] = {
    // Keys
    {"private-key", key_block, "-----BEGIN |---- BEGIN |Private-Lines: ", "", kNone,
     "private key: PEM of all kinds, OpenSSH, PGP, SSH2, PuTTY"},
    {"private-key-base64", token, "LS0tLS1CRUdJTi", "[A-Za-z0-9+/=_-]{40,}", kKeyInside,
     "private key in PEM, in base64 once more"},
    {"openssh-key", token, "b3BlbnNzaC1rZXktdjE", "[A-Za-z0-9+/=]{40,}", kNone,
     "body of an OpenSSH private key"},
    {"age-key", token, "AGE-SECRET-KEY-1[A-Z0-9]{58}", "", kNone, "age identity"},
    {"jwk-private-key", token, "\"d\":\"", "([A-Za-z0-9_-]{40,})\"", kNone,
     "private part of a JSON Web Key"},
    {"jwk-private-key", token, "\"d\": \"", "([A-Za-z0-9_-]{40,})\"", kNone,
     "private part of a JSON Web Key"},
    {"wallet-key", context, "private_key|privatekey|private-key|wallet_key|privkey",
     "(?:0x)?[0-9a-f]{64}", kNone, "private key of a wallet"},
    {"wallet-key", token, "[xyz]prv[A-Za-z0-9]{107}", "", kNone, "private key of a wallet"},
    {"wallet-phrase", context, "mnemonic|seed phrase|seed_phrase|recovery phrase|seedphrase",
     "(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8}", kNone, "seed phrase of a wallet"},
    {"jwt", jwt, "eyJ[A-Za-z0-9_-]{9}", "", kNone, "JSON Web Token"},
    // Hashes of passwords
    {"bcrypt-hash", token, "\\$2[abxy]\\$[0-9]{2}\\$[./A-Za-z0-9]{53}", "", kNone, "bcrypt hash"},
    {"crypt-hash", token, "\\$[156]\\$",
     "(?:rounds=[0-9]+\\$)?[./A-Za-z0-9]{1,16}\\$[./A-Za-z0-9]{22,86}", kNone,
     "MD5, SHA-256 or SHA-512 crypt hash"},
    {"yescrypt-hash", token, "\\$gy\\$", "[./A-Za-z0-9]+\\$[./A-Za-z0-9]+\\$[./A-Za-z0-9]{43}",
     kNone, "yescrypt hash"},
    {"yescrypt-hash", token, "\\$y\\$", "[./A-Za-z0-9]+\\$[./A-Za-z0-9]+\\$[./A-Za-z0-9]{43}",
     kNone, "yescrypt hash"},
    {"argon2-hash", token, "\\$argon2", "(?:id|i|d)\\$[A-Za-z0-9=,$+/]{30,}", kNone, "Argon2 hash"},
    {"scrypt-hash", token, "\\$7\\$", "[./A-Za-z0-9]{11,}\\$[./A-Za-z0-9]{43}", kNone,
     "scrypt hash"},
    {"apache-hash", token, "\\$apr1\\$", "[./A-Za-z0-9]{1,8}\\$[./A-Za-z0-9]{22}", kNone,
     "htpasswd hash"},
    {"ldap-hash", token, "\\{SHA", "(?:256|384|512)?\\}[A-Za-z0-9+/]{27,}={0,2}", kNone,
     "LDAP or htpasswd SHA hash"},
    {"ldap-hash", token, "\\{SSHA", "(?:256|384|512)?\\}[A-Za-z0-9+/]{27,}={0,2}", kNone,
     "LDAP or htpasswd SHA hash"},
    {"pbkdf2-hash", token, "pbkdf2_sha", "(?:1|256|512)\\$[0-9]+\\$[^\\s$]+\\$[A-Za-z0-9+/=]{20,}",
     kNone, "Django PBKDF2 hash"},
    {"pbkdf2-hash", token, "\\$pbkdf2",
     "(?:-sha(?:1|256|512))?\\$[0-9]+\\$[^\\s$]+\\$[A-Za-z0-9+/.=]{20,}", kNone, "PBKDF2 hash"},
    {"scram-verifier", token, "SCRAM-SHA-",
     "(?:1|256)\\$[0-9]+:[A-Za-z0-9+/=]+\\$[A-Za-z0-9+/=:]{40,}", kNone,
     "SCRAM verifier of PostgreSQL"},
    {"phpass-hash", token, "\\$[PH]\\$[./A-Za-z0-9]{31}", "", kNone, "phpass hash"},
    {"mysql-hash", context, "authentication_string|identified by password|mysql_native_password",
     "\\*[0-9A-F]{40}", kNone, "MySQL password hash"},
    {"nt-hash", token, ":[a-fA-F0-9]{32}:[a-fA-F0-9]{32}:::", "", kAnywhere,
     "Windows password hashes as dumped"},
    // Connection strings
    {"url-password", url, "://", "", kNone, "password in a URL"},
    {"netrc-password", token, "login ", "[^\\s]{1,64}\\s{1,4}password\\s{1,4}([^\\s]{3,})", kNone,
     "password in a netrc file"},
    {"pgpass-entry", token, ":5432:", "[^:\\s]{1,64}:[^:\\s]{1,64}:([^\\s]{4,})", kAnywhere,
     "password in a .pgpass file"},
    // Headers
    {"authorization-header", context, "authorization", "[^\\s\"'\\\\,;<>{}$*]{6,}", kStrong,
     "Authorization header"},
    {"digest-response", token, "response=\"", "([0-9a-f]{32,64})\"", kNone,
     "response of Digest authentication"},
    {"bearer-token", token, "bearer[ :]", "[ \\t]{0,2}([A-Za-z0-9._~+/=-]{16,})",
     kCaseless | kMixed, "bearer token"},
    {"cookie-header", cookie, "cookie", "", kNone, "values of Cookie and Set-Cookie headers"},
    {"api-key-header", context,
     "x-api-key|x-auth-token|x-vault-token|x-goog-api-key|subscription-key|x-functions-key|"
     "x-access-token|x-csrf-token|x-amz-security-token|x-session-token|private-token|job-token",
     "[^\\s\"'<>{}$*\\\\,;]{8,}", kNone, "header that carries a key"},
    // Command lines
    {"curl-login", token, "[ \\t]-u", "[ =]?[\"']?[^\\s:\"'$]{1,64}:([^\\s\"'$]{3,})", kAnywhere,
     "login on the command line of curl", RedactionGroup::secrets, "curl"},
    {"curl-login", token, "[ \\t]--user", "[ =]?[\"']?[^\\s:\"'$]{1,64}:([^\\s\"'$]{3,})",
     kAnywhere, "login on the command line of curl", RedactionGroup::secrets, "curl"},
    {"mysql-login", token, "[ \\t]-p", "[\"']?([^\\s\"'$-][^\\s\"']{3,})", kAnywhere,
     "password on the command line of mysql", RedactionGroup::secrets, "mysql"},
    {"mysql-login", token, "[ \\t]-p", "[\"']?([^\\s\"'$-][^\\s\"']{3,})", kAnywhere,
     "password on the command line of mysql", RedactionGroup::secrets, "mariadb"},
    {"sshpass-login", token, "[ \\t]-p", "[ \\t]?[\"']?([^\\s\"'$]{3,})", kAnywhere,
     "password on the command line of sshpass", RedactionGroup::secrets, "sshpass"},
    {"docker-login", token, "[ \\t]-p", "[ \\t]?[\"']?([^\\s\"'$]{4,})", kAnywhere,
     "password on the command line of docker", RedactionGroup::secrets, "docker login"},
    {"redis-login", token, "[ \\t]-a", "[ \\t]?[\"']?([^\\s\"'$]{4,})", kAnywhere,
     "password on the command line of redis-cli", RedactionGroup::secrets, "redis-cli"},
    {"ldap-login", token, "[ \\t]-w", "[ \\t]?[\"']?([^\\s\"'$]{4,})", kAnywhere,
     "password on the command line of LDAP tools", RedactionGroup::secrets, "ldap"},
    // Assignments: what a name says is secret
    {"password-assignment", assignment,
     "password|passwd|passphrase|passcode|passwort|pwd|pass_|pass=|pass:|pass\"|pass'|pass "
     "|kennwort",
     "", kPassword, "value called a password, in env, JSON, YAML, XML, code and flags"},
    {"secret-assignment", assignment, "secret", "", kNone, "value called a secret"},
    {"token-assignment", assignment, "token|_jwt|otp_seed|csrf", "", kNone, "value called a token"},
    {"api-key-assignment", assignment,
     "api_key|apikey|api-key|access_key|accesskey|access-key|appkey|auth_key|"
     "account_key|accountkey|license_key|licensekey|"
     "api.key|api key",
     "", kNone, "value called an API or access key"},
    {"encryption-key-assignment", assignment,
     "private_key|privatekey|private-key|encryption_key|encryptionkey|encryption-key|signing_key|"
     "signingkey|signing-key|master_key|masterkey|master-key|session_key|shared_key|sharedkey|"
     "hmac_key|aes_key|ssh_key|deploy_key|decryption_key|"
     "crypto_key|app_key|rsa_key",
     "", kNone, "value called a key of encryption"},
    {"credential-assignment", assignment, "credential|auth_data|authdata|_auth", "", kNone,
     "value called a credential"},
    {"high-entropy-value", assignment, "key|auth|salt|signature|cert|cred|seed", "", kStrong,
     "random value with a name that speaks of keys"},
};

}  // namespace

std::span<const RedactionRule> credential_rules() {
  return kRules;
}

}  // namespace sallyport
