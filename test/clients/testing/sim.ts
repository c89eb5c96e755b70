/* What the simulated engine is told to say. */

/** Options of the simulated engine, and the text that a client has in the end. */
export interface Script {
  readonly options: object;
  readonly text: string;
}

const CHUNKS = Array.from({ length: 150 }, (_, i) => `word ${i} ✓ `);

/** Takes 2 s. */
export const STORY: Script = {
  options: { chunks: CHUNKS, tokens_per_second: 75 },
  text: CHUNKS.join(""),
};

/** The same in half a second, for what is not disturbed. */
export const QUICK: Script = {
  options: { ...STORY.options, tokens_per_second: 300 },
  text: STORY.text,
};

const SLOW_CHUNKS = CHUNKS.slice(0, 40);

/** Takes 4 s, and another worker continues after the stored text when its worker has ended: see `takeOver`. */
export const SLOW: Script = {
  options: { chunks: SLOW_CHUNKS, tokens_per_second: 10 },
  text: SLOW_CHUNKS.join(""),
};

/** The same with an engine that begins again when another worker takes over. */
export const RESTARTING: Script = {
  options: { ...SLOW.options, continuable: false },
  text: SLOW.text,
};

/** Says nothing more after the 20th chunk, until it is cancelled. */
export const STALLING: Script = {
  options: { chunks: CHUNKS, tokens_per_second: 1_000, stall_after_tokens: 20 },
  text: CHUNKS.slice(0, 20).join(""),
};

/** Fails after the 20th chunk. */
export const FAILING: Script = {
  options: { chunks: CHUNKS, tokens_per_second: 1_000, fail_after_tokens: 20 },
  text: CHUNKS.slice(0, 20).join(""),
};

export const REASONED = "First I think, then I answer.";
export const REASONING: Script = {
  options: {
    says: [
      { type: "reasoning", text: "First I think, " },
      { type: "reasoning", text: "then I answer." },
    ],
    chunks: ["It ", "is ", "so."],
    tokens_per_second: 200,
  },
  text: "It is so.",
};

/** Calls the request's first tool, with these arguments, after a word. */
export const CALLED = { after_tokens: 1, call: 0 };
export const CALLING: Script = {
  options: { chunks: ["Wait: ", "never said."], tool_call_after_tokens: 1, tokens_per_second: 200 },
  text: "Wait: ",
};

export const WEATHER = { city: "Oslo", degrees: 3 };
export const STRUCTURED: Script = {
  options: { text: JSON.stringify(WEATHER), tokens_per_second: 200 },
  text: JSON.stringify(WEATHER),
};

const BEFORE_CARD = ["You may ", "pay ", "with "];
const CARD_CHUNKS = ["4111 ", "1111 ", "1111 ", "1111"];
const BEHIND_CARD = [", ", "she said, ", "or not ", "at all."];

/** Says a card number, which the rules of the tenants `gate` and `retract` withdraw. */
export const CARD: Script & { readonly shown: string } = {
  options: { chunks: [...BEFORE_CARD, ...CARD_CHUNKS, ...BEHIND_CARD], tokens_per_second: 20 },
  text: [...BEFORE_CARD, ...CARD_CHUNKS, ...BEHIND_CARD].join(""),
  shown: [...BEFORE_CARD, "[redacted]", ...BEHIND_CARD].join(""),
};

/** A `fetch` for a client's own option of that name: it adds fields to the body of each POST, which the client has no way to say. */
function fetchWith(fields: object): typeof fetch {
  return (input, init) => {
    if (init?.method?.toUpperCase() !== "POST" || typeof init.body !== "string") return fetch(input, init);
    const body = JSON.stringify({ ...(JSON.parse(init.body) as object), ...fields });
    const headers = new Headers(init.headers);
    headers.delete("content-length");
    return fetch(input, { ...init, headers, body });
  };
}

/** The same with the options of one script after the other: a client that answers a tool sends a POST more. The last one continues. */
export function fetchInTurn(scripts: readonly [Script, ...Script[]]): typeof fetch {
  let sent = 0;
  return (input, init) => {
    const { options } = scripts[Math.min(sent, scripts.length - 1)] ?? scripts[0];
    if (init?.method?.toUpperCase() === "POST") sent++;
    return fetchWith({ options })(input, init);
  };
}
