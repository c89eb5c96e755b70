import { expect, test } from "vitest";
import { addressClassOf } from "./address-class.ts";

test.each([
  ["loopback", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]],
  [
    "private",
    [
      ...["10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "169.254.1.1"],
      ...["::ffff:10.1.2.3", "fd00::1", "fe80::1", "fe80::1%eth0"],
    ],
  ],
  [
    "public",
    [
      ...["8.8.8.8", "172.15.255.255", "172.32.0.1", "192.169.0.1", "100.128.0.1", "126.255.255.255"],
      ...["::ffff:8.8.8.8", "2001:db8::1", "::", undefined, "", "no address"],
    ],
  ],
])("an address is %s", (expected, addresses) => {
  expect(addresses.map((address) => [address, addressClassOf(address)])).toEqual(
    addresses.map((address) => [address, expected]),
  );
});
