import { expect, test } from "vitest";
import { patientConfig } from "./patient-config.ts";

test("clients have a minute to make themselves known, unless a test says otherwise", () => {
  expect(patientConfig()).toEqual({ authorization: { timeout: 60 } });
  const accounts = { A: {} };
  expect(
    patientConfig({ accounts, authorization: { token: "t" }, tls: { cert_file: "c", timeout: 1 } }),
  ).toEqual({
    accounts,
    authorization: { timeout: 60, token: "t" },
    tls: { cert_file: "c", timeout: 1 },
  });
});
