import { Writable } from "node:stream";
import { runProgram } from "@reprise/runtime";
import type { MakeCommand } from "../cli/command.ts";
import type { FilledArchive } from "./filled-archive.ts";
import { MASTER_KEY } from "./test-keys.ts";

/** Runs a command on an archive's files alone, and with its keys. */
export function runOn({ dir, keysDir }: FilledArchive, make: MakeCommand, ...args: readonly string[]) {
  const where = ["--archive", dir, "--keys", keysDir, "--name", "test"];
  return runCommand(make, [...where, ...args], { REPRISE_AUDIT_MASTER_KEY: MASTER_KEY.toString("hex") });
}

/** Runs a command, and collects what it writes. */
export async function runCommand(
  make: MakeCommand,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ code: number; out: string; err: string }> {
  const [out, err] = [createSink(), createSink()];
  const io = { out: out.stream, err: err.stream, env, exitCode: 0 };
  await runProgram(make(io), args, io);
  return { code: io.exitCode, out: out.text(), err: err.text() };
}

function createSink() {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}
