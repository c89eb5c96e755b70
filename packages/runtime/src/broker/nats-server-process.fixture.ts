import { startNatsServer } from "./nats-server-process.ts";

/*
 * A small platform for the test beside it: starts a server, prints its address on one line, and then only waits.
 * On SIGINT it prints "draining" and keeps running, like a platform that has readers to send home first.
 */
const [binary, storeDir] = process.argv.slice(2);
const { port, pid } = await startNatsServer({ binary: binary!, storeDir: storeDir! });
process.on("SIGINT", () => console.log("draining"));
console.log(JSON.stringify({ port, pid }));
