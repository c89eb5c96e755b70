// What CommonJS gets by `require` is what modules get: node main.cjs <url> <key>
const { createReprise } = require("@reprise/ai-sdk");

const [url = "", apiKey = ""] = process.argv.slice(2);
void import("@reprise/ai-sdk")
  .then((module) => {
    if (module.createReprise !== createReprise) throw new Error("The package was loaded twice");
    return import("./read-generations.mjs");
  })
  .then(({ readGenerations }) => readGenerations({ url, apiKey }))
  .then((read) => console.log(JSON.stringify(read)));
