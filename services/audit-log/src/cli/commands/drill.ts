import { createFileStore } from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import { parseOptions } from "@reprise/service";
import { drillArchive, drillSmallArchive } from "../drill/run-drill.ts";
import { type Command, EXIT, writeLine } from "../command.ts";
import { ARCHIVE_OPTIONS, archiveName, verifierKeys } from "../options.ts";

/** Shows that tampering is caught. */
export const drill: Command = {
  summary: "tampers with copies of an archive in every way it knows, and shows that each is caught",
  usage: `  --archive <folder>          default: a small one that it makes and removes; copies are in memory, nothing is touched
  --vkey <key>                of the archive's signatures; default: the one whose signing key is with the keys
  --name <name>               of the archive; default: $REPRISE_AUDIT_NAME, or reprise
  0: all were caught; 2: one was not`,

  async run(args, { out, env }) {
    const { values } = parseOptions(args, { ...ARCHIVE_OPTIONS, vkey: { type: "string", multiple: true } });
    const { archive } = values;
    let results = drillSmallArchive();
    if (archive !== undefined) {
      const [vkey] = await verifierKeys(values, env);
      if (!vkey) throw new RepriseError("invalid_request", "--vkey is missing.");
      const name = archiveName(values, env);
      results = drillArchive({ store: createFileStore(archive), name, vkey });
    }
    let missed = 0;
    let judged = 0;
    for await (const { name, expected, verdict, because } of results) {
      const mark = verdict === undefined ? "-     " : verdict === expected ? "ok    " : "MISSED";
      if (verdict !== undefined) judged++;
      if (mark === "MISSED") missed++;
      await writeLine(out, `${mark} ${name}: ${[verdict, because].filter(Boolean).join(", ")}`);
    }
    await writeLine(out, `${judged - missed} of ${judged} as expected`);
    return missed === 0 ? EXIT.fine : EXIT.tampered;
  },
};
