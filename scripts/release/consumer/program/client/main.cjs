// The same in CommonJS: node main.cjs <url> <key>
const { createClient } = require("@reprise/client");

const [url = "", apiKey = ""] = process.argv.slice(2);
void import("./read-generations.mjs")
  .then(({ readGenerations }) => readGenerations(createClient({ url, apiKey })))
  .then((read) => console.log(JSON.stringify(read)));
