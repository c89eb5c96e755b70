export { overSocket, type OverSocketOptions, type SocketFetch } from "./over-socket.ts";
