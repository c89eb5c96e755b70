type Fields = Readonly<Record<string, unknown>>;

/**
 * Fields that an answer can do without. No option of a request's own is among them: it would be dropped without a word to who sent it. Of
 * `stream_options`, `continuous_usage_stats` goes alone where the server names that.
 */
const FIELDS = [
  "stream_options",
  "continuous_usage_stats",
  "timings_per_token",
  "parallel_tool_calls",
  "temperature",
  "top_p",
  "top_k",
  "min_p",
  "frequency_penalty",
  "presence_penalty",
  "repetition_penalty",
  "repeat_penalty",
  "logit_bias",
  "seed",
  "verbosity",
  "reasoning_effort",
];
/** Fields of messages that a server can do without if it does not know them. */
const MESSAGE_FIELDS = ["reasoning_content", "reasoning", "reasoning_details", "refusal"];
/** A field of a tool call, and one of a tool's function. */
const EXTRA_CONTENT = "extra_content";
const STRICT = "strict";
const DEVELOPER = "role developer";
const LIMITS = ["max_tokens", "max_completion_tokens"];

const UNKNOWN =
  "(?:unsupported|unrecogni[sz]ed|unknown|unexpected|extra|invalid|additional|no such) (?:(?:request|body|input|keyword) )*(?:argument|parameter|param|field|propert(?:y|ies)|key|input|name)s?";
const NOT_TAKEN =
  "(?:is |are |was |were )?(?:not supported|unsupported|not permitted|not allowed|not recogni[sz]ed|not a valid|unknown|unrecogni[sz]ed|unexpected|an? (?:unknown|unexpected|extra|unsupported))";
/** Words of a server that refuses a value, which is the request's own fault. */
const VALUE =
  /unsupported.value|supported values|must be (?!satisfied)|between|only the default|does not support ['"\d]/i;
const ROLE = /\brole\b/i;

/**
 * Fields that a server has refused, so that it is sent requests without them. A refusal has to say that the server does not know the
 * field, and the server has to take the request without it: an error may quote a prompt, and a value that it does not take is the
 * request's own fault.
 */
export class RefusedFields {
  readonly #names = new Set<string>();

  /** Number of fields that are known to be refused. */
  get count(): number {
    return this.#names.size;
  }

  /** @returns the body as the server takes it, without further fields */
  apply(json: string, further: Iterable<string> = []): string {
    const names = new Set([...this.#names, ...further]);
    if (names.size === 0) return json;
    const { messages, tools, ...fields } = JSON.parse(json) as { messages: Fields[]; tools?: Fields[] };
    const [refused] = LIMITS.filter((name) => names.has(name));
    const rest = Object.entries(fields).flatMap(([name, value]) => {
      if (name === refused) return [[LIMITS.find((other) => other !== name)!, value]];
      if (name === "stream_options" && names.has("continuous_usage_stats"))
        return names.has(name) ? [] : [[name, without(value as Fields, "continuous_usage_stats")]];
      return names.has(name) && FIELDS.includes(name) ? [] : [[name, value]];
    });
    return JSON.stringify({
      ...(Object.fromEntries(rest) as Fields),
      messages: messages.map((message) => toMessage(message, names)),
      ...(tools && { tools: names.has(STRICT) ? tools.map(withoutStrict) : tools }),
    });
  }

  /**
   * Finds what a server refuses of a body.
   * @param said the server's answer
   */
  find(json: string, said: string): readonly string[] {
    const texts = textsOf(said);
    const { messages, tools = [], ...rest } = JSON.parse(json) as { messages: Fields[]; tools?: Fields[] };
    const fields: Fields = rest;
    const calls = messages.flatMap((message) => (message["tool_calls"] as Fields[] | undefined) ?? []);
    const has = (name: string) =>
      name in fields ||
      messages.some((message) => name in message) ||
      (name === "continuous_usage_stats" && name in Object(fields["stream_options"])) ||
      (name === EXTRA_CONTENT && calls.some((call) => name in call)) ||
      (name === STRICT && tools.some(({ function: called }) => name in (called as object)));
    const known = [...FIELDS, ...MESSAGE_FIELDS, EXTRA_CONTENT, STRICT, ...LIMITS].filter(has);
    const found = known.filter((name) => texts.some((text) => isRefused(name, text)));
    if (found.includes("continuous_usage_stats") && found.includes("stream_options"))
      found.splice(found.indexOf("stream_options"), 1);
    const isRole = messages.some(({ role }) => role === "developer") && texts.some((text) => ROLE.test(text));
    return [...found, ...(isRole ? [DEVELOPER] : [])].filter((name) => !this.#names.has(name));
  }

  /** @returns those that were not known */
  remember(names: readonly string[]): readonly string[] {
    const isNew = names.filter((name) => !this.#names.has(name));
    for (const name of isNew) this.#names.add(name);
    return isNew;
  }
}

function isRefused(name: string, text: string): boolean {
  if (VALUE.test(text)) return false;
  const marked = `[[("'\`]{0,2}(?:[\\w.[\\]]*\\.)?${name}\\b["'\`\\])]{0,2}`;
  return new RegExp(
    `${UNKNOWN}(?: supplied| name| (?:are|is) not permitted, field)?:? ${marked}|${marked}:? (?:${NOT_TAKEN}|${UNKNOWN})`,
    "i",
  ).test(text);
}

/** Fields of an error in which servers say what is wrong. In others they repeat the request. */
const SAID = ["error", "message", "msg", "detail", "details", "errors", "title", "reason"];
/** Enough for any server's sentence; what comes after may be the request. */
const MAX_TEXT = 512;

/** The sentences of an error. A name in a field of its own is put into one. */
function textsOf(said: string): string[] {
  const texts: string[] = [];
  const visit = (value: unknown, depth: number): void => {
    if (typeof value === "string") texts.push(value.slice(0, MAX_TEXT));
    if (typeof value !== "object" || value === null || depth > 4) return;
    if (Array.isArray(value)) return value.slice(0, 16).forEach((one) => visit(one, depth + 1));
    const fields = value as Fields;
    for (const name of SAID) visit(fields[name], depth + 1);
    const { param, loc } = fields;
    const place = typeof param === "string" ? param : Array.isArray(loc) ? String(loc.at(-1)) : undefined;
    const message = [fields["message"], fields["msg"]].find((text) => typeof text === "string");
    if (place !== undefined && message !== undefined)
      texts.push(`${place.slice(0, 128)}: ${message.slice(0, MAX_TEXT)}`);
  };
  try {
    visit(JSON.parse(said), 0);
  } catch {
    visit(said, 0);
  }
  return texts;
}

function toMessage({ role, tool_calls: calls, ...fields }: Fields, names: ReadonlySet<string>): Fields {
  const kept = Object.entries(fields).filter(([name]) => !MESSAGE_FIELDS.includes(name) || !names.has(name));
  return {
    role: role === "developer" && names.has(DEVELOPER) ? "system" : role,
    ...Object.fromEntries(kept),
    ...(calls !== undefined && {
      tool_calls: names.has(EXTRA_CONTENT)
        ? (calls as Fields[]).map((call) => without(call, EXTRA_CONTENT))
        : calls,
    }),
  };
}

function withoutStrict({ function: called, ...tool }: Fields): Fields {
  return { ...tool, function: without(called as Fields, STRICT) };
}

function without(fields: Fields, name: string): Fields {
  const { [name]: _, ...rest } = fields;
  return rest;
}
