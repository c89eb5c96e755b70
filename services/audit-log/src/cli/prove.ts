import { ArchiveReader } from "@reprise/archive";
import { parseGenerationId, RepriseError } from "@reprise/protocol";
import { proveEvent } from "../proving/prove-event.ts";
import { ACCESS_OPTIONS, ACCESS_USAGE, recordAccess } from "./access.ts";
import { type Command, EXIT, writeLine } from "./command.ts";
import { findGeneration } from "./find-generation.ts";
import {
  ARCHIVE_OPTIONS,
  ARCHIVE_USAGE,
  openArchiveCopy,
  openKeyringCopy,
  parseOptions,
  required,
} from "./options.ts";

/** Makes a proof that an event is in the archive. */
export const prove: Command = {
  summary: "a proof, for others, that one event is in the archive; of other generations it shows nothing",
  usage: `  --generation <id>
  --seq <n>                   which event
  --tenant <id>               default: whose it is
  --reveal                    the proof opens what is sealed with the generation's key; without it, it shows no text
  --with-text                 the proof has the event's text, which has to be taken on trust: where the key opens other generations too
${ACCESS_USAGE}
${ARCHIVE_USAGE}`,
  async run(args, io) {
    const { values } = parseOptions(args, {
      ...ARCHIVE_OPTIONS,
      ...ACCESS_OPTIONS,
      generation: { type: "string" },
      seq: { type: "string" },
      tenant: { type: "string" },
      reveal: { type: "boolean", default: false },
      "with-text": { type: "boolean", default: false },
    });
    const { reveal, "with-text": claim } = values;
    if (reveal && claim)
      throw new RepriseError("invalid_request", "--reveal and --with-text exclude each other.");
    const generation = parseGenerationId(required(values.generation, "generation"));
    const seq = parseSeq(required(values.seq, "seq"));
    const archive = await openArchiveCopy(values, io.env);
    const keyring = await openKeyringCopy(values, io.env);
    const reader = new ArchiveReader({ archive, keyring });
    const tenants = values.tenant === undefined ? archive.state.tenants() : [values.tenant];
    const ref = await findGeneration(reader, tenants, generation);
    await recordAccess(
      values.nats,
      {
        ...ref,
        call: "prove",
        query: { seq: String(seq), reveal: String(reveal), with_text: String(claim) },
      },
      io,
    );
    const proof = await proveEvent({
      archive,
      reader,
      ref,
      seq,
      reveal: reveal ? keyring : undefined,
      claim,
    });
    await writeLine(io.out, JSON.stringify(proof, undefined, 2));
    return EXIT.fine;
  },
};

/** @throws RepriseError `invalid_request` */
function parseSeq(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new RepriseError("invalid_request", "--seq must be a number from 0.");
}
