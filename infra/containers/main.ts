// In the image `set-up`, for docker-compose.yml: what has to be there before the services. See README.md.
import { endWithReader } from "@reprise/runtime";
import { join } from "node:path";
import { prepare, readAccess } from "./prepare.ts";
import { chooseProfile, isProfile, moveToProfile, PROFILES } from "./profiles.ts";

const USAGE = `main.js prepare                makes keys, certificates and settings in the volumes
main.js profile ${PROFILES.join("|")}   chooses what the next prepare makes
main.js move full              chooses the profile full for a new project with the volumes of a backup
main.js hello                  says how to get a first token
main.js key|operator-key       prints the key of the tenant demo, or the operator's`;

/** Where docker-compose.yml mounts all volumes for this, and where the image has nginx's configuration. */
const VOLUMES = process.env["VOLUMES"] ?? "/volumes";
const PROXY = process.env["PROXY"] ?? "/reprise/infra/proxies/nginx";
const PORT = process.env["HTTP_PORT"] ?? "8080";

const HELLO = `Reprise is there. In another terminal, in this folder:

  KEY=$(docker compose run --rm --no-deps -T hello key)
  curl -N http://127.0.0.1:${PORT}/v1/generations -H "Authorization: Bearer $KEY" \\
    -H "Content-Type: application/json" -H "Accept: text/event-stream" \\
    -d '{"model": "sim", "input": "Tell me about streams.", "options": {"tokens": 200}}'
`;

const [command, argument] = process.argv.slice(2);
endWithReader(process.stdout);
try {
  if (command === "prepare") await prepare(VOLUMES, PROXY);
  else if (command === "profile" && isProfile(argument))
    await chooseProfile(join(VOLUMES, "operator"), argument);
  else if (command === "move" && argument === "full") await moveToProfile(VOLUMES, argument);
  else if (command === "hello") process.stdout.write(HELLO);
  else if (command === "key") process.stdout.write(`${(await readAccess(VOLUMES)).apiKey}\n`);
  else if (command === "operator-key") process.stdout.write(`${(await readAccess(VOLUMES)).operatorKey}\n`);
  else {
    const isAsked = command === "--help";
    (isAsked ? process.stdout : process.stderr).write(`${USAGE}\n`);
    process.exitCode = isAsked ? 0 : 2;
  }
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
