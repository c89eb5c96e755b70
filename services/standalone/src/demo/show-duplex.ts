import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "@reprise/client";
import { inputOf } from "@reprise/client/input";
import { startDemoPlatform } from "./demo-platform.ts";
import { openTcpRelay } from "./tcp-relay.ts";

const WORDS = (
  "every word of this is typed while its answer comes back over another connection and both are cut twice on the way so that " +
  "each side has to find out what the other one has and to continue there"
).split(" ");
const TYPED_EVERY_MS = 60;
/** After how many words each connection is cut. */
const CUTS = { input: [8, 22], output: [14, 30] };

interface Output {
  write(text: string): unknown;
}

/** Shows a generation whose input streams too. Returns whether nothing was lost or doubled in either direction. */
export async function showDuplex(
  env: Readonly<Record<string, string | undefined>>,
  out: Output,
): Promise<boolean> {
  await using platform = await startDemoPlatform({ ...env, OPENAI_BASE_URL: undefined });
  const { url, apiKey } = platform;
  await using up = await openTcpRelay(url);
  await using down = await openTcpRelay(url);
  const speaker = createClient({ url: up.url, apiKey });
  const listener = createClient({ url: down.url, apiKey });
  const { id } = await speaker.generations.create({
    model: "sim",
    input: { stream: { format: "text" } },
    options: { answer: "upper" },
  });
  out.write(
    `\nThe simulator answers in capitals what is typed (${id}). \u2702 is a cut, of the input or the output.\n\n`,
  );

  const stream = listener.generations.stream(id);
  const type = async () => {
    const input = inputOf(speaker, id);
    for (const [i, word] of WORDS.entries()) {
      const stored = input.text(`${word} `);
      if (CUTS.input.includes(i)) {
        up.cut();
        out.write(" \u2702 input ");
      }
      if (CUTS.output.includes(i)) {
        down.cut();
        out.write(" \u2702 output ");
      }
      await Promise.all([stored, delay(TYPED_EVERY_MS)]);
    }
    await input.end();
    return input.state();
  };
  const listen = async () => {
    let heard = "";
    for await (const event of stream) {
      if (event.type !== "output.delta") continue;
      heard += event.text;
      out.write(event.text);
    }
    return heard;
  };
  const [{ stored, consumed }, answer] = await Promise.all([type(), listen()]);
  const typed = `${WORDS.join(" ")} `;
  const isWhole = answer === typed.toUpperCase() && stored === WORDS.length + 1;
  const rows: [string, string][] = [
    ["entries typed, stored, consumed", `${WORDS.length} and an end, ${stored}, ${consumed}`],
    [
      "cuts of the input, of the output",
      `${CUTS.input.length}, ${CUTS.output.length} (resumed ${stream.reconnects} times)`,
    ],
    ["the answer", isWhole ? "has each word once, in order" : "is NOT what was typed"],
  ];
  out.write("\n\n");
  for (const [name, value] of rows) out.write(`  ${name.padEnd(42)}${value}\n`);
  return isWhole && stream.reconnects > 0;
}
