type Fields = Readonly<Record<string, unknown>>;

/** Fields without which the answer would be another one than was asked for, or would cost more. */
const NEEDED: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "stream",
  "tools",
  "tool_choice",
  "response_format",
  "max_tokens",
  "max_completion_tokens",
  "stop",
  "cache_salt",
  "continue_final_message",
  "add_generation_prompt",
]);
/** Fields that the platform adds: a server that names one of them in a refusal does not know it. */
const ADDED: ReadonlySet<string> = new Set(["stream_options", "timings_per_token"]);
const MESSAGE_FIELDS: ReadonlySet<string> = new Set(["role", "content", "tool_calls", "tool_call_id"]);
const DEVELOPER = "role developer";
const STRICT = "strict";
/** What another server asked to get back with a call. */
const CALL_STATE = "extra_content";
/** Words of a server that does not know a field, or does not take it of this model. */
const UNKNOWN =
  /unsupported|not supported|n't supported|does ?n[o']t support|unrecogni[sz]ed|unknown|not permitted|not allowed|unexpected|extra (?:field|input|param)|not a valid|no such/i;

/**
 * Fields that a server has refused, so that it is sent requests without them. A refusal has to name the field, and to say that the
 * server does not know it: a value that it does not take is the request's own fault.
 */
export class RefusedFields {
  readonly #names = new Set<string>();
  /** The server's other name for the limit. */
  #limitField: string | undefined;

  /** @returns the body as the server takes it */
  apply(json: string): string {
    if (this.#names.size === 0 && this.#limitField === undefined) return json;
    const { messages, tools, ...fields } = JSON.parse(json) as { messages: Fields[]; tools?: Fields[] };
    return JSON.stringify({
      ...Object.fromEntries(
        Object.entries(fields).flatMap(([name, value]) =>
          this.#names.has(name) ? [] : [[this.#toName(name), value]],
        ),
      ),
      messages: messages.map((message) => this.#toMessage(message)),
      ...(tools && { tools: this.#names.has(STRICT) ? tools.map(withoutStrict) : tools }),
    });
  }

  /**
   * Takes a refusal.
   * @param json the body that was refused
   * @param said the server's answer
   * @returns what the server refuses, by name; empty where nothing new is known
   */
  learn(json: string, said: string): readonly string[] {
    const { messages, tools = [], ...fields } = JSON.parse(json) as { messages: Fields[]; tools?: Fields[] };
    const isUnknown = UNKNOWN.test(said);
    const inMessages = new Set(messages.flatMap((message) => Object.keys(message)));
    const names = [
      ...Object.keys(fields).filter(
        (name) => !NEEDED.has(name) && (ADDED.has(name) || isUnknown) && isNamed(name, said),
      ),
      ...[...inMessages].filter((name) => !MESSAGE_FIELDS.has(name) && isUnknown && isNamed(name, said)),
      ...(messages.some(({ role }) => role === "developer") && /role/i.test(said) && /developer/.test(said)
        ? [DEVELOPER]
        : []),
      ...(isUnknown && isNamed(STRICT, said) && tools.some(hasStrict) ? [STRICT] : []),
      ...(isUnknown && isNamed(CALL_STATE, said) && messages.some(hasCallState) ? [CALL_STATE] : []),
    ].filter((name) => !this.#names.has(name));
    for (const name of names) this.#names.add(name);
    const other = otherLimit(fields, said);
    if (other === undefined || this.#limitField !== undefined) return names;
    this.#limitField = other;
    return [...names, other === "max_tokens" ? "max_completion_tokens" : "max_tokens"];
  }

  #toName(name: string): string {
    return name === "max_tokens" || name === "max_completion_tokens" ? (this.#limitField ?? name) : name;
  }

  #toMessage({ role, ...fields }: Fields): Fields {
    const told = this.#names.has(CALL_STATE) ? withoutCallState(fields) : fields;
    const kept = Object.entries(told).filter(([name]) => MESSAGE_FIELDS.has(name) || !this.#names.has(name));
    const known = role === "developer" && this.#names.has(DEVELOPER) ? "system" : role;
    return { role: known, ...Object.fromEntries(kept) };
  }
}

/** Whether an error names a field. A name that may be a word of a text has to be marked as a name. */
function isNamed(name: string, said: string): boolean {
  const marked = name.includes("_") ? `\\b${name}\\b` : `["'\`.]${name}\\b|\\b${name}["'\`:]`;
  return new RegExp(marked).test(said);
}

/** The name that a server has for the limit, where it refuses the one that it was sent: OpenAI's models do, and say so. */
function otherLimit(fields: Fields, said: string): string | undefined {
  if (!UNKNOWN.test(said)) return undefined;
  if ("max_tokens" in fields && /\bmax_completion_tokens\b/.test(said)) return "max_completion_tokens";
  return "max_completion_tokens" in fields && isNamed("max_completion_tokens", said)
    ? "max_tokens"
    : undefined;
}

function callsOf({ tool_calls: calls }: Fields): readonly Fields[] {
  return Array.isArray(calls) ? (calls as Fields[]) : [];
}

function hasCallState(message: Fields): boolean {
  return callsOf(message).some((call) => CALL_STATE in call);
}

function withoutCallState(message: Fields): Fields {
  if (!hasCallState(message)) return message;
  return { ...message, tool_calls: callsOf(message).map(({ [CALL_STATE]: _state, ...call }) => call) };
}

function hasStrict({ function: called }: Fields): boolean {
  return typeof called === "object" && called !== null && STRICT in called;
}

function withoutStrict({ function: called, ...tool }: Fields): Fields {
  const { [STRICT]: _, ...rest } = called as Fields;
  return { ...tool, function: rest };
}
