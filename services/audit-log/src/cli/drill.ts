import { runDrill } from "../drill/run-drill.ts";
import { type Command, EXIT, writeLine } from "./command.ts";
import { parseOptions } from "./options.ts";

/** Shows that tampering is caught. */
export const drill: Command = {
  summary: "tampers with a small archive of its own in every way it knows, and shows that each is caught",
  usage: "  no options; takes some seconds. 0: all were caught; 2: one was not",

  async run(args, { out }) {
    parseOptions(args, {});
    let missed = 0;
    let all = 0;
    const lines: string[] = [];
    await runDrill(({ name, expected, verdict, because }) => {
      all++;
      if (verdict !== expected) missed++;
      const mark = verdict === expected ? "ok    " : "MISSED";
      lines.push(`${mark} ${name}\n         ${verdict}${because && `, ${because}`}`);
    });
    for (const line of lines) await writeLine(out, line);
    await writeLine(out, `${all - missed} of ${all} as expected`);
    return missed === 0 ? EXIT.fine : EXIT.tampered;
  },
};
