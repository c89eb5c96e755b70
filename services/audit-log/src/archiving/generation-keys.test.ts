import { createRef, delta, requested } from "@reprise/testkit";
import { expect, test } from "vitest";
import { openFilledArchive } from "../testing/filled-archive.ts";
import { GenerationKeys } from "./generation-keys.ts";

const STORED_AT_US = 1_795_000_000_000_000;
const HOUR_US = 3_600_000_000;

test("the archive knows the key of a generation that continues, or is archived again, and no old file is read for one that begins", async () => {
  await using filled = await openFilledArchive();
  const { archive, keyring } = filled;
  const ref = createRef();
  filled.log(ref, [requested(ref), delta("a")], STORED_AT_US);
  await filled.commit();
  const anew = () => new GenerationKeys(archive, keyring);

  const { kid } = await anew().goOn(ref);
  expect((await anew().goOn(ref)).kid).toBe(kid);
  expect((await anew().begin(ref, undefined, STORED_AT_US)).kid).toBe(kid);
  expect((await anew().begin(ref, undefined, STORED_AT_US + HOUR_US)).kid).not.toBe(kid);
});
