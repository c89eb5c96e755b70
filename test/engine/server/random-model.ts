import { encodeGguf, type Tensor } from "./gguf.ts";

const DIMENSION = 384;
const LAYERS = 6;
const FEED_FORWARD = 1_024;
const CONTEXT = 4_096;
const HEAD = 32;

const WORDS =
  "time year people way day man thing woman life child world school state family student group country problem hand part place case week company system program question work government number night point home water room mother area money story fact month lot right study book eye job word business issue side kind head house service friend father power hour game line end member law car city community name café naïve Zürich 日本 мир 🙂";
const MARKS = [".", ",", "\n"];
const SPECIAL = ["<tool_call>", "</tool_call>", "<|endoftext|>", "<|im_start|>", "<|im_end|>"];

/** Shows all that a request may hold: tools, roles, calls, answers and thoughts. */
const TEMPLATE = `{%- if tools %}<|im_start|>system
{{ tools | tojson }}<|im_end|>
{% endif -%}
{%- for m in messages %}<|im_start|>{{ m.role }}
{% if m.reasoning_content %}({{ m.reasoning_content }}){% endif %}{{ m.content }}{% if m.tool_calls %}{% for c in m.tool_calls %}<tool_call>{{ c | tojson }}</tool_call>{% endfor %}{% endif %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

/**
 * A llama whose weights are random, but always the same: it says words without a sense, about 70 a second on one core, and answers the same
 * request with the same text. Enough to compare what two ways of asking bring.
 */
export function encodeRandomModel(): Buffer[] {
  const { tokens, merges, spoken, types } = createVocabulary();
  const normal = createNormal(7);
  const matrix = (name: string, rows: number, columns: number, scale: number): Tensor => ({
    name,
    shape: [rows, columns],
    data: Float32Array.from({ length: rows * columns }, () => normal() * scale),
  });
  const ones = (name: string): Tensor => ({
    name,
    shape: [DIMENSION],
    data: new Float32Array(DIMENSION).fill(1),
  });
  const usual = DIMENSION ** -0.5;
  const layers = Array.from({ length: LAYERS }, (_, i) => `blk.${i}.`).flatMap((layer) => [
    ones(`${layer}attn_norm.weight`),
    ones(`${layer}ffn_norm.weight`),
    matrix(`${layer}attn_q.weight`, DIMENSION, DIMENSION, usual * 1.5),
    matrix(`${layer}attn_k.weight`, DIMENSION, DIMENSION, usual * 1.5),
    matrix(`${layer}attn_v.weight`, DIMENSION, DIMENSION, usual * 2),
    matrix(`${layer}attn_output.weight`, DIMENSION, DIMENSION, usual * 2),
    matrix(`${layer}ffn_gate.weight`, FEED_FORWARD, DIMENSION, usual * 1.5),
    matrix(`${layer}ffn_up.weight`, FEED_FORWARD, DIMENSION, usual * 1.5),
    matrix(`${layer}ffn_down.weight`, DIMENSION, FEED_FORWARD, FEED_FORWARD ** -0.5 * 1.5),
  ]);
  const output = matrix("output.weight", tokens.length, DIMENSION, usual * 2);
  // Bytes and special tokens stay possible, for grammars, and improbable.
  for (const [id] of tokens.entries()) {
    if (spoken.has(id)) continue;
    for (let i = 0; i < DIMENSION; i++) output.data[id * DIMENSION + i]! *= 0.02;
  }
  const idOf = (token: string) => ({ u32: tokens.indexOf(token) });
  return encodeGguf(
    {
      "general.architecture": { text: "llama" },
      "general.name": { text: "random" },
      "general.file_type": { u32: 0 },
      "llama.context_length": { u32: CONTEXT },
      "llama.embedding_length": { u32: DIMENSION },
      "llama.block_count": { u32: LAYERS },
      "llama.feed_forward_length": { u32: FEED_FORWARD },
      "llama.attention.head_count": { u32: DIMENSION / HEAD },
      "llama.attention.head_count_kv": { u32: DIMENSION / HEAD },
      "llama.attention.layer_norm_rms_epsilon": { f32: 1e-5 },
      "llama.rope.dimension_count": { u32: HEAD },
      "llama.vocab_size": { u32: tokens.length },
      "tokenizer.ggml.model": { text: "gpt2" },
      "tokenizer.ggml.pre": { text: "gpt-2" },
      "tokenizer.ggml.tokens": { texts: tokens },
      "tokenizer.ggml.token_type": { i32s: types },
      "tokenizer.ggml.merges": { texts: merges },
      "tokenizer.ggml.bos_token_id": idOf("<|endoftext|>"),
      "tokenizer.ggml.eos_token_id": idOf("<|im_end|>"),
      "tokenizer.ggml.add_bos_token": { bool: false },
      "tokenizer.chat_template": { text: TEMPLATE },
    },
    [matrix("token_embd.weight", tokens.length, DIMENSION, 1), ...layers, ones("output_norm.weight"), output],
  );
}

/** Every byte, each word with a blank before it by way of its beginnings, and the special tokens. */
function createVocabulary() {
  const letterOf = createByteLetters();
  const spell = (text: string) => [...Buffer.from(text)].map((byte) => letterOf[byte]!);
  const tokens = [...letterOf];
  const merges: string[] = [];
  const spoken = new Set<number>();
  for (const word of WORDS.split(" ")) {
    const [first, ...rest] = spell(` ${word}`);
    let begun = first!;
    for (const letter of rest) {
      if (!tokens.includes(begun + letter)) {
        merges.push(`${begun} ${letter}`);
        tokens.push(begun + letter);
      }
      begun += letter;
    }
    spoken.add(tokens.indexOf(begun));
  }
  for (const mark of MARKS) spoken.add(tokens.indexOf(spell(mark)[0]!));
  const plain = tokens.length;
  tokens.push(...SPECIAL);
  // Normal tokens, those that a template writes, and those that no text holds.
  const types = tokens.map((_, id) => (id < plain ? 1 : id < plain + 2 ? 4 : 3));
  return { tokens, merges, spoken, types };
}

/** The letter that GPT-2's tokenizer has for each byte: its own where it can be printed, another one elsewhere. */
function createByteLetters(): string[] {
  const isPrintable = (byte: number) =>
    (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte < 0xad) || byte > 0xad;
  let others = 0;
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode(isPrintable(byte) ? byte : 256 + others++),
  );
}

/** Normally distributed numbers, the same for a seed. */
function createNormal(seed: number): () => number {
  let state = seed;
  const uniform = () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}
