import type { AddressClass } from "@reprise/protocol";
import { expect, test } from "vitest";
import { addressClassOf } from "./address-class.ts";

const ADDRESSES: Record<AddressClass, string> = {
  loopback: "127.0.0.1 127.9.9.9 ::1 ::ffff:127.0.0.1",
  private:
    "10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 169.254.1.1 ::ffff:10.1.2.3 fd00::1 fe80::1 fe80::1%eth0",
  public:
    "8.8.8.8 172.15.255.255 172.32.0.1 192.169.0.1 100.128.0.1 126.255.255.255 ::ffff:8.8.8.8 2001:db8::1 :: nonsense",
};

test.each(Object.entries(ADDRESSES))("an address is %s: %s", (expected, addresses) => {
  const all = addresses.split(" ");
  expect(all.map((address) => [address, addressClassOf(address)])).toEqual(
    all.map((address) => [address, expected]),
  );
});

test("the address of a connection that is closed is public", () => {
  expect(addressClassOf(undefined)).toBe("public");
});
