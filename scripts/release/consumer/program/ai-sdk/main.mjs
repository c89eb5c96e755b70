// Runs as it is, and bundled: node main.mjs <url> <key>
import { readGenerations } from "./read-generations.mjs";

const [url = "", apiKey = ""] = process.argv.slice(2);
console.log(JSON.stringify(await readGenerations({ url, apiKey })));
