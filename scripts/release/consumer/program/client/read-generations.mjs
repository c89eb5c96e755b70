/**
 * What a program asks of the platform: a generation whose reader leaves and goes on with its cursor, and one that it cancels while
 * it streams, which takes hours otherwise.
 *
 * @param {import("@reprise/client").Client} client
 */
export async function readGenerations({ generations }) {
  const options = { tokens: 64, tokens_per_second: 400 };
  const { id } = await generations.create({ model: "sim", input: "Tell me about streams.", options });
  const first = generations.stream(id);
  for await (const event of first) if (event.type === "output.delta") break;
  const rest = await generations.stream(id, { after: first.cursor }).done();
  const { text } = await generations.get(id);

  const endless = generations.run({ model: "sim", input: "Go on.", options: { tokens: 1_000_000 } });
  let deltas = 0;
  for await (const event of endless) {
    if (event.type !== "output.delta") continue;
    deltas += 1;
    if (deltas === 3) await endless.cancel();
  }
  return { text, streamed: first.text + rest.text, status: rest.status, cancelled: endless.status };
}
