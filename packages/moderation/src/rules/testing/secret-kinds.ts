import { ALPHANUMERIC, BASE64URL, DIGITS, type Draw, HEX, LOWER, UPPER } from "./draw.ts";
import type { Kind } from "./kind.ts";

/** Returns a function that draws a token after a prefix in parts: no file of the repository holds text that looks like a key. */
function token(parts: readonly string[], alphabet: string, length: number): (draw: Draw) => string {
  return (draw) => parts.join("") + draw.text(alphabet, length);
}

function strong(rule: string, name: string, make: (draw: Draw) => string): Kind {
  return { name, rule: `secrets.${rule}`, form: "strong", make };
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

export const SECRET_KINDS: readonly Kind[] = [
  strong("aws-access-key", "AWS access key", token(["AK", "IA"], UPPER + "234567", 16)),
  strong("aws-access-key", "AWS temporary key", token(["AS", "IA"], UPPER + "234567", 16)),
  strong("github-token", "GitHub token", token(["gh", "p_"], ALPHANUMERIC, 36)),
  strong("github-token", "GitHub app token", token(["gh", "s_"], ALPHANUMERIC, 36)),
  strong(
    "github-token",
    "GitHub fine-grained token",
    (draw) => `${["github", "pat"].join("_")}_${draw.text(ALPHANUMERIC, 22)}_${draw.text(ALPHANUMERIC, 59)}`,
  ),
  strong("gitlab-token", "GitLab token", token(["gl", "pat-"], BASE64URL, 20)),
  strong("npm-token", "npm token", token(["np", "m_"], ALPHANUMERIC, 36)),
  strong("hugging-face-token", "Hugging Face token", token(["h", "f_"], ALPHANUMERIC, 34)),
  strong("anthropic-key", "Anthropic key", token(["sk", "-ant-", "api03-"], BASE64URL, 95)),
  strong("openai-key", "OpenAI key", token(["s", "k-"], ALPHANUMERIC, 48)),
  strong("openai-key", "OpenAI project key", token(["sk-", "proj-"], BASE64URL, 120)),
  strong("slack-token", "Slack bot token", (draw) =>
    [["xo", "xb"].join(""), draw.text(DIGITS, 12), draw.text(DIGITS, 13), draw.text(ALPHANUMERIC, 24)].join(
      "-",
    ),
  ),
  strong(
    "slack-webhook",
    "Slack webhook",
    (draw) =>
      `hooks.slack.com/services/T${draw.text(UPPER + DIGITS, 8)}/B${draw.text(UPPER + DIGITS, 10)}/${draw.text(ALPHANUMERIC, 24)}`,
  ),
  strong("google-api-key", "Google API key", token(["AI", "za", "Sy"], BASE64URL, 33)),
  strong("stripe-key", "Stripe key", token(["sk", "_live_"], ALPHANUMERIC, 24)),
  strong("stripe-key", "Stripe webhook secret", token(["wh", "sec_"], ALPHANUMERIC, 32)),
  strong(
    "sendgrid-key",
    "SendGrid key",
    (draw) => `SG.${draw.text(BASE64URL, 22)}.${draw.text(BASE64URL, 43)}`,
  ),
  strong("jwt", "JWT", (draw) =>
    [
      encoded({ alg: "HS256", typ: "JWT" }),
      encoded({ sub: draw.text(DIGITS, 10), iat: draw.number(1_700_000_000, 1_790_000_000) }),
      draw.text(BASE64URL, 43),
    ].join("."),
  ),
  strong("bearer-token", "bearer token", (draw) => `Bearer ${draw.text(ALPHANUMERIC, 40)}`),
  strong("bearer-token", "bearer token in hex", (draw) => `Bearer ${draw.text(HEX + LOWER.slice(0, 6), 40)}`),
];
