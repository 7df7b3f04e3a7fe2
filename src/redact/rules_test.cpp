#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "redact/redact_fixture.h"
#include "redact/rule_set.h"

namespace sallyport {
namespace {

struct Format {
  std::string_view id;
  std::string_view text;  // for Formats::make
};

// As the services document their keys, written anew: not made from the rules.
constexpr Format kFormats[] = {
    {"aws-access-key", "AK|IA{A16}"},
    {"aws-access-key", "AS|IA{A16}"},
    {"aws-secret-key", "aws_secret_access_key = {b40}"},
    {"aws-secret-key", "\"SecretAccessKey\": \"{b40}\""},
    {"aws-session-token", "IQoJb3JpZ2lu{b200}"},
    {"aws-session-token", "AWS_SESSION_TOKEN={b200}"},
    {"aws-bedrock-key", "ABSKQmVkcm9ja0FQSUtleS{b60}"},
    {"aws-mws-token", "amzn.mws.{u}"},
    {"aws-appsync-key", "da2-{l26}"},
    {"google-api-key", "AI|za{w35}"},
    {"google-oauth-secret", "GOCS|PX-{w28}"},
    {"google-oauth-token", "ya29|.{w60}"},
    {"google-refresh-token", "1//0{w60}"},
    {"google-hmac-key", "GOOG|1E{A55}"},
    {"gcp-service-account", "\"private_key_id\": \"{h40}\""},
    {"firebase-messaging-key", "AAAA{w7}:APA91b{w134}"},
    {"recaptcha-key", "RECAPTCHA_SECRET=6L{w38}"},
    {"azure-storage-key", "AccountKey={b86}=="},
    {"azure-shared-access-key", "SharedAccessKey={b43}="},
    {"azure-sas-signature", "https://x.blob.example/c?sv=2022&sig={a43}%3D"},
    {"azure-client-secret", "{a3}8|Q~{a34}"},
    {"azure-devops-token", "{a76}AZDO{a4}"},
    {"azure-ai-key", "{a52}JQQJ99{a26}"},
    {"azure-search-key", "{a42}AzSeA{a5}"},
    {"azure-function-key", "{a44}AzFu{a6}=="},
    {"azure-registry-key", "{a42}+ACRA{a5}"},
    {"azure-cache-key", "{a33}AzCaA{a5}="},
    {"alibaba-access-key", "LTAI{a20}"},
    {"alibaba-secret-key", "ALIYUN_ACCESS_KEY_SECRET={a30}"},
    {"tencent-secret-id", "AKID{a32}"},
    {"digitalocean-token", "dop_v1_{h64}"},
    {"digitalocean-spaces-key", "DO00{A16}"},
    {"cloudflare-token", "CLOUDFLARE_API_TOKEN={w40}"},
    {"cloudflare-token", "cfut_{a48}"},
    {"cloudflare-origin-key", "v1.0-{h24}-{h146}"},
    {"oracle-auth-token", "OCI_AUTH_TOKEN={a20}"},
    {"ibm-cloud-key", "IBMCLOUD_API_KEY={w44}"},
    {"linode-token", "LINODE_TOKEN={h64}"},
    {"vultr-key", "VULTR_API_KEY={A36}"},
    {"hetzner-token", "HCLOUD_TOKEN={a64}"},
    {"scaleway-access-key", "SCW{A17}"},
    {"scaleway-secret-key", "SCW_SECRET_KEY={u}"},
    {"exoscale-key", "EXO{h24}"},
    {"exoscale-secret", "EXOSCALE_API_SECRET={w43}"},
    {"upcloud-token", "ucat_{A26}"},
    {"yandex-key", "AQVN{w36}"},
    {"yandex-oauth-token", "y0_{w55}"},
    {"backblaze-key", "B2_APPLICATION_KEY=K002{b27}"},
    {"heroku-key", "HRKU-{u}"},
    {"heroku-key", "HEROKU_API_KEY={u}"},
    {"fly-token", "FlyV1 fm2_{b80}"},
    {"vercel-token", "VERCEL_TOKEN={a24}"},
    {"vercel-blob-token", "vercel_blob_rw_{a16}_{a30}"},
    {"netlify-token", "nf|p_{a36}"},
    {"render-key", "rnd_{a28}"},
    {"railway-token", "RAILWAY_TOKEN={u}"},
    {"supabase-token", "sb|p_{h40}"},
    {"supabase-secret-key", "sb_secret_{w31}"},
    {"planetscale-token", "pscale_tkn_{w43}"},
    {"planetscale-password", "pscale_pw_{w43}"},
    {"neon-key", "napi_{l64}"},
    {"databricks-token", "da|pi{h32}"},
    {"databricks-token", "da|pi{h32}-2"},
    {"mongodb-atlas-secret", "mdb_sa_sk_{w40}"},
    {"upstash-token", "UPSTASH_REDIS_REST_TOKEN={b44}"},
    {"turso-token", "TURSO_AUTH_TOKEN=eyJ{w20}.{w60}"},
    {"elastic-key", "essu_{b60}"},
    {"vault-token", "hv|s.{w24}"},
    {"vault-token", " s.{a24}"},
    {"terraform-token", "{a14}.atlasv1.{w67}"},
    {"consul-token", "CONSUL_HTTP_TOKEN={u}"},
    {"nomad-token", "NOMAD_TOKEN={u}"},
    {"pulumi-token", "pul-{h40}"},
    {"doppler-token", "dp.pt.{a43}"},
    {"doppler-token", "dp.st.dev.{a43}"},
    {"doppler-token", "dp.audit.{a43}"},
    {"infisical-token", "st.{h24}.{h32}.{h32}"},
    {"onepassword-service-token", "ops_eyJ{w200}"},
    {"onepassword-secret-key", "A3-{A6}-{A6}-{A5}-{A5}-{A5}-{A5}"},
    {"bitwarden-token", "0.{u}.{a30}:{b22}=="},
    {"tailscale-key", "tskey-auth-{a12}-{a32}"},
    {"ngrok-token", "authtoken: 2{a26}_{a20}"},
    {"kubernetes-client-key", "client-key-data: {b120}"},
    {"kubernetes-bootstrap-token", "kubeadm join --token {l6}.{l16}"},
    {"docker-token", "dckr|_pat_{w27}"},
    {"docker-config-auth", "\"auth\": \"{b32}\""},
    {"sallyport-key", "sp|_{a12}_{a43}"},
    {"github-token", "gh|p_{a36}"},
    {"github-token", "gh|s_{a36}"},
    {"github-fine-grained-token", "github|_pat_{a22}_{a59}"},
    {"gitlab-personal-token", "gl|pat-{w20}"},
    {"gitlab-deploy-token", "gl|dt-{w20}"},
    {"gitlab-runner-token", "gl|rt-{w20}"},
    {"gitlab-runner-registration", "GR13|48941{w20}"},
    {"gitlab-job-token", "gl|cbt-{w20}"},
    {"gitlab-trigger-token", "gl|ptt-{h40}"},
    {"gitlab-feed-token", "gl|ft-{w20}"},
    {"gitlab-mail-token", "gl|imt-{w25}"},
    {"gitlab-agent-token", "gl|agent-{w50}"},
    {"gitlab-oauth-secret", "gl|oas-{h64}"},
    {"gitlab-scim-token", "gl|soat-{w20}"},
    {"gitlab-feature-flag-token", "gl|ffct-{w20}"},
    {"bitbucket-app-password", "AT|BB{a32}"},
    {"bitbucket-access-token", "ATCTT3xFf{w180}"},
    {"bitbucket-server-token", "BBDC-{a44}"},
    {"atlassian-token", "ATATT3xFf{w180}"},
    {"gitea-token", "GITEA_TOKEN={h40}"},
    {"sourcegraph-token", "sgp_{h16}_{h40}"},
    {"circleci-token", "CCIPAT_{a22}_{h40}"},
    {"circleci-token", "CIRCLECI_TOKEN={h40}"},
    {"buildkite-token", "bkua_{h40}"},
    {"travis-token", "TRAVIS_TOKEN={a22}"},
    {"jenkins-token", "JENKINS_API_TOKEN=11{h32}"},
    {"drone-token", "DRONE_TOKEN={a32}"},
    {"codecov-token", "CODECOV_TOKEN={u}"},
    {"coveralls-token", "COVERALLS_REPO_TOKEN={a33}"},
    {"sonar-token", "squ_{h40}"},
    {"snyk-token", "SNYK_TOKEN={u}"},
    {"harness-token", "pat.{w22}.{h24}.{a20}"},
    {"npm-token", "np|m_{a36}"},
    {"npm-token", "//registry.example.com/:_authToken={u}"},
    {"pypi-token", "py|pi-AgEIcHlwaS5vcmc{w120}"},
    {"rubygems-key", "rubygems_{h48}"},
    {"crates-token", "cio{a32}"},
    {"nuget-key", "oy2{l43}"},
    {"clojars-token", "CLOJARS_{l60}"},
    {"packagist-token", "packagist_uut_{h68}"},
    {"artifactory-key", "AKCp{a69}"},
    {"artifactory-token", "cmVmdGtu{a56}"},
    {"jetbrains-token", "perm:{a8}.{a8}.{a30}"},
    {"cargo-registry-token", "CARGO_REGISTRY_TOKEN={a35}"},
    {"openai-key", "sk|-{a20}T3BlbkFJ{a20}"},
    {"openai-key", "sk|-proj-{w120}"},
    {"ai-service-key", "sk|-{a48}"},
    {"anthropic-key", "sk|-ant-api03-{w95}"},
    {"openrouter-key", "sk|-or-v1-{h64}"},
    {"huggingface-token", "hf|_{a34}"},
    {"huggingface-org-token", "api_org_{a34}"},
    {"groq-key", "gsk_{a52}"},
    {"replicate-token", "r8_{a37}"},
    {"perplexity-key", "pplx-{a48}"},
    {"xai-key", "xai-{a80}"},
    {"cohere-key", "COHERE_API_KEY={a40}"},
    {"mistral-key", "MISTRAL_API_KEY={a32}"},
    {"together-key", "TOGETHER_API_KEY={h64}"},
    {"langsmith-key", "lsv2_pt_{h32}_{h10}"},
    {"langfuse-key", "sk-lf-{u}"},
    {"fireworks-key", "fw_{a24}"},
    {"nvidia-key", "nvapi-{w64}"},
    {"cerebras-key", "csk-{l48}"},
    {"elevenlabs-key", "sk|_{h48}"},
    {"wandb-key", "WANDB_API_KEY={h40}"},
    {"pinecone-key", "pcsk_{a5}_{a63}"},
    {"voyage-key", "pa-{w43}"},
    {"tavily-key", "tvly-{a32}"},
    {"deepgram-key", "DEEPGRAM_API_KEY={h40}"},
    {"assemblyai-key", "ASSEMBLYAI_API_KEY={h32}"},
    {"e2b-key", "e2b_{h40}"},
    {"firecrawl-key", "fc-{h32}"},
    {"slack-token", "xo|xb-{d12}-{d12}-{a24}"},
    {"slack-token", "xo|xp-{d12}-{d12}-{d12}-{h32}"},
    {"slack-app-token", "xa|pp-1-A{A10}-{d13}-{h64}"},
    {"slack-webhook", "https://hooks.slack|.com/services/T{A8}/B{A8}/{a24}"},
    {"discord-token", "M{a23}.{a6}.{a27}"},
    {"discord-webhook", "https://discord.com/api/webhooks/{d18}/{w68}"},
    {"telegram-bot-token", "{d10}:AA{w33}"},
    {"teams-webhook",
     "https://example.webhook.office.com/webhookb2/{u}@{u}/IncomingWebhook/{h32}/{u}"},
    {"google-chat-webhook",
     "https://chat.googleapis.com/v1/spaces/{a11}/messages?key={a30}&token={a30}"},
    {"stripe-key", "sk|_live_{a24}"},
    {"stripe-key", "rk|_test_{a99}"},
    {"stripe-webhook-secret", "wh|sec_{a32}"},
    {"square-token", "sq0|atp-{w22}"},
    {"square-secret", "sq0|csp-{w43}"},
    {"paypal-secret", "PAYPAL_CLIENT_SECRET=E{w79}"},
    {"braintree-token", "access_token$production${l16}${h32}"},
    {"shopify-token", "shp|at_{h32}"},
    {"razorpay-key", "rzp_live_{a14}"},
    {"plaid-token", "access-production-{u}"},
    {"flutterwave-key", "FLWSECK-{h32}-X"},
    {"mollie-key", "live_{a30}"},
    {"gocardless-token", "live_{w40}"},
    {"easypost-key", "EZAK{a54}"},
    {"shippo-token", "shippo_live_{h40}"},
    {"duffel-token", "duffel_live_{w43}"},
    {"sendgrid-key", "SG|.{w22}.{w43}"},
    {"mailgun-key", "key-{h32}"},
    {"mailgun-key", "MAILGUN_API_KEY={h32}-{h8}-{h8}"},
    {"mailchimp-key", "{h32}-us12"},
    {"mandrill-key", "md-{w22}"},
    {"brevo-key", "xkeysib-{h64}-{a16}"},
    {"brevo-smtp-key", "xsmtpsib-{h64}-{a16}"},
    {"postmark-token", "POSTMARK_SERVER_TOKEN={u}"},
    {"resend-key", "re_{a8}_{a24}"},
    {"sparkpost-key", "SPARKPOST_API_KEY={h40}"},
    {"mailersend-token", "mlsn.{h64}"},
    {"twilio-api-key", "S|K{h32}"},
    {"twilio-auth-token", "TWILIO_AUTH_TOKEN={h32}"},
    {"vonage-secret", "VONAGE_API_SECRET={a16}"},
    {"messagebird-key", "MESSAGEBIRD_KEY={a25}"},
    {"klaviyo-key", "pk_{h34}"},
    {"hubspot-token", "pat-na1-{u}"},
    {"intercom-token", "dG9rO{b55}="},
    {"zendesk-token", "ZENDESK_TOKEN={a40}"},
    {"freshdesk-key", "FRESHDESK_KEY={a20}"},
    {"salesforce-token", "00D{a12}!{a96}"},
    {"datadog-key", "DD_API_KEY={h32}"},
    {"datadog-key", "DATADOG_APP_KEY: {h40}"},
    {"newrelic-key", "NR|AK-{A27}"},
    {"newrelic-insert-key", "NRII-{w32}"},
    {"newrelic-license-key", "{h36}NRAL"},
    {"grafana-service-token", "gl|sa_{a32}_{h8}"},
    {"grafana-cloud-token", "gl|c_{b80}"},
    {"grafana-api-key", "eyJrIjoi{a60}"},
    {"sentry-token", "sntrys_eyJ{a60}_{a43}"},
    {"sentry-token", "sntryu_{h64}"},
    {"sentry-dsn", "https://{h32}@o12345.ingest.example.io/4505"},
    {"honeycomb-key", "hcaik_{l58}"},
    {"dynatrace-token", "dt0c01.{A24}.{A64}"},
    {"pagerduty-key", "PAGERDUTY_API_KEY={a20}"},
    {"splunk-token", "SPLUNK_HEC_TOKEN={u}"},
    {"opsgenie-key", "OPSGENIE_API_KEY={u}"},
    {"rollbar-token", "ROLLBAR_ACCESS_TOKEN={h32}"},
    {"bugsnag-key", "BUGSNAG_API_KEY={h32}"},
    {"axiom-token", "xaat-{u}"},
    {"sumologic-key", "SUMOLOGIC_ACCESSKEY={a64}"},
    {"posthog-key", "phx_{a43}"},
    {"figma-token", "figd_{w40}"},
    {"linear-key", "lin_api_{a40}"},
    {"linear-oauth-token", "lin_oauth_{h64}"},
    {"notion-token", "ntn_{d11}{a35}"},
    {"notion-token", "secret_{a43}"},
    {"airtable-token", "pat{a14}.{h64}"},
    {"airtable-key", "AIRTABLE_API_KEY=key{a14}"},
    {"asana-token", "1/{d16}:{h32}"},
    {"asana-token", "2/{d16}/{d16}:{h32}"},
    {"dropbox-token", "sl.{w140}"},
    {"postman-key", "PM|AK-{h24}-{h34}"},
    {"okta-token", "OKTA_API_TOKEN=00{w40}"},
    {"auth0-secret", "AUTH0_CLIENT_SECRET={w64}"},
    {"contentful-token", "CFPAT-{w43}"},
    {"typeform-token", "tfp_{a44}"},
    {"clickup-token", "pk_{d8}_{A32}"},
    {"trello-token", "ATTA{h64}{H8}"},
    {"trello-key", "TRELLO_KEY={h32}"},
    {"readme-key", "rdme_{l70}"},
    {"algolia-key", "ALGOLIA_ADMIN_KEY={h32}"},
    {"mapbox-token", "sk.eyJ{w60}.{w22}"},
    {"launchdarkly-key", "sdk-{u}"},
    {"segment-key", "SEGMENT_WRITE_KEY={a32}"},
    {"facebook-token", "EAA{a120}"},
    {"facebook-secret", "FACEBOOK_APP_SECRET={h32}"},
    {"twitter-token", "TWITTER_ACCESS_TOKEN_SECRET={a45}"},
    {"linkedin-secret", "LINKEDIN_CLIENT_SECRET={a16}"},
    {"twitch-token", "TWITCH_TOKEN={l30}"},
    {"spotify-secret", "SPOTIFY_CLIENT_SECRET={h32}"},
    {"adobe-secret", "p8e-{a32}"},
    {"zapier-webhook", "https://hooks.zapier.com/hooks/catch/{d7}/{l7}/"},
    {"ifttt-webhook", "https://maker.ifttt.com/trigger/x/with/key/{w43}"},
    {"infura-key", "INFURA_KEY={h32}"},
    {"alchemy-key", "ALCHEMY_KEY={w32}"},
    {"binance-key", "BINANCE_API_KEY={a64}"},
    {"openssh-key", "b3BlbnNzaC1rZXktdjE{b200}"},
    {"age-key", "AGE-SECRET|-KEY-1{A58}"},
    {"jwk-private-key", "\"kty\":\"EC\",\"d\":\"{w43}\",\"x\":\"y\""},
    {"wallet-key", "PRIVATE_KEY=0x{h64}"},
    {"wallet-key", "xprv{a107}"},
    {"wallet-phrase", "mnemonic: \"{c5} {c4} {c6} {c3} {c5} {c4} {c6} {c3} {c5} {c4} {c6} {c7}\""},
    {"bcrypt-hash", "$2b$12${a53}"},
    {"crypt-hash", "$6${a16}${a86}"},
    {"crypt-hash", "$5$rounds=5000${a8}${a43}"},
    {"yescrypt-hash", "$y$j9T${a22}${a43}"},
    {"argon2-hash", "$argon2id$v=19$m=65536,t=3,p=4${a22}${a43}"},
    {"scrypt-hash", "$7$C6..../....{a22}${a43}"},
    {"apache-hash", "$apr1${a8}${a22}"},
    {"ldap-hash", "{S|SHA}{b32}"},
    {"pbkdf2-hash", "pbkdf2_sha256$260000${a22}${b43}="},
    {"scram-verifier", "SCRAM-SHA-256$4096:{b22}==${b43}=:{b43}="},
    {"phpass-hash", "$P${a31}"},
    {"mysql-hash", "authentication_string: *{H40}"},
    {"nt-hash", "Administrator:500:{h32}:{h32}:::"},
    {"url-password", "postgres://app:{a12}@db.internal:5432/shop"},
    {"netrc-password", "machine x login bob password {a10}"},
    {"pgpass-entry", "db.internal:5432:shop:app:{a12}"},
    {"authorization-header", "Authorization: Bearer {a30}"},
    {"authorization-header", "authorization: Basic {b20}"},
    {"digest-response", "Authorization: Digest username=\"x\", response=\"{h32}\""},
    {"bearer-token", "bearer {a30}"},
    {"cookie-header", "Cookie: sid={a20}; theme=dark"},
    {"cookie-header", "Set-Cookie: sid={a20}; Path=/; HttpOnly"},
    {"api-key-header", "X-Api-Key: {a20}"},
    {"curl-login", "curl -s -u bob:{a10} https://x.example"},
    {"mysql-login", "mysql -u root -p{a10} shop"},
    {"sshpass-login", "sshpass -p {a10} ssh x"},
    {"docker-login", "docker login -u bob -p {a10} x"},
    {"redis-login", "redis-cli -h x -a {a10} ping"},
    {"ldap-login", "ldapsearch -x -D cn=x -w {a10}"},
    {"password-assignment", "PASSWORD={a10}"},
    {"password-assignment", "\"db_password\": \"{a10}\""},
    {"secret-assignment", "client_secret: {a20}"},
    {"token-assignment", "--token {a20}"},
    {"api-key-assignment", "api_key = \"{a20}\""},
    {"encryption-key-assignment", "ENCRYPTION_KEY={b43}="},
    {"credential-assignment", "credential: \"{a20}\""},
    {"high-entropy-value", "signing.key.v2 = {b40}4a"},
};

RedactionCounts counts_of(std::string_view text) {
  RedactionCounts counts;
  (void)redact_all(all_redactions(), text, counts);
  return counts;
}

std::string shown(const RedactionCounts& counts) {
  std::string text;
  for (const auto& [id, count] : counts)
    text.append(id).append(" ");
  return text;
}

TEST(RedactionRules, FindTheDocumentedFormats) {
  Formats formats(1);
  for (const Format& format : kFormats)
    for (int round = 0; round < 20; ++round) {
      const std::string text = "x " + formats.make(format.text) + "\nnext line\n";
      const RedactionCounts counts = counts_of(text);
      EXPECT_TRUE(counts.contains(std::string(format.id)))
          << format.id << " in " << text << "found: " << shown(counts);
      EXPECT_THAT(redacted(text), testing::HasSubstr("[REDACTED_SECRET:" + std::string(format.id)));
    }
}

// The last random part one character short: the format is not met.
std::string near_miss(std::string_view format) {
  std::string text(format);
  for (std::size_t open = text.rfind('{'); open != std::string::npos && open > 0;
       open = text.rfind('{', open - 1)) {
    if (open + 2 >= text.size() || !std::isdigit(static_cast<unsigned char>(text[open + 2])))
      continue;
    const std::size_t close = text.find('}', open);
    const unsigned long count = std::stoul(text.substr(open + 2, close - open - 2));
    return text.replace(open + 2, close - open - 2, std::to_string(count - 1));
  }
  return {};
}

// Rules of fixed length, which one character less does not satisfy.
TEST(RedactionRules, LetNearMissesStay) {
  Formats formats(2);
  std::size_t tried = 0;
  for (const ReadyRule& ready : ready_rules()) {
    const RedactionRule& rule = *ready.rule;
    if (rule.kind != RuleKind::token || !rule.rest.empty()) continue;
    for (const Format& format : kFormats) {
      if (format.id != rule.id || format.text.contains(' ')) continue;
      const std::string text = near_miss(format.text);
      if (text.empty()) continue;
      const RE2 whole{std::string(rule.anchor)};
      if (!RE2::FullMatch(formats.make(format.text), whole)) continue;
      const std::string made = formats.make(text);
      ++tried;
      EXPECT_FALSE(counts_of(" " + made + " ").contains(std::string(rule.id)))
          << rule.id << " " << made;
    }
  }
  EXPECT_GT(tried, 60u);
}

TEST(RedactionRules, AreEachTried) {
  std::set<std::string_view> tried{"private-key", "private-key-base64", "jwt",   "home-dir",
                                   "ip-address",  "temp-dir",           "email", "card"};
  for (const Format& format : kFormats)
    tried.insert(format.id);
  std::set<std::string_view> secrets;
  for (const RedactionRuleText& rule : redaction_rules()) {
    EXPECT_TRUE(tried.contains(rule.id)) << rule.id << " has no documented format here";
    if (rule.group == "secrets") secrets.insert(rule.id);
  }
  EXPECT_GE(secrets.size(), 120u);
}

TEST(RedactionRules, AreWellFormed) {
  for (const ReadyRule& ready : ready_rules()) {
    const RedactionRule& rule = *ready.rule;
    EXPECT_FALSE(rule.id.empty());
    EXPECT_FALSE(rule.what.empty()) << rule.id;
    EXPECT_TRUE(std::ranges::all_of(rule.id, [](char c) {
      return std::islower(static_cast<unsigned char>(c)) ||
             std::isdigit(static_cast<unsigned char>(c)) || c == '-';
    })) << rule.id;
    EXPECT_TRUE(!ready.rest || ready.rest->ok()) << rule.id;
    EXPECT_LE(rule.id.size() + 18, kLongestMarker) << rule.id;
    EXPECT_TRUE(rule.group != RedactionGroup::secrets ||
                is_marker("[REDACTED_SECRET:" + std::string(rule.id) + "]"));
  }
  EXPECT_TRUE(Redactions::make({.groups = {"secrets"}}));
}

}  // namespace
}  // namespace sallyport
