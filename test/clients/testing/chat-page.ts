import { join } from "node:path";
import { rolldown } from "rolldown";

/**
 * A page with a chat. Its address has the chat's id in `?chat=` and the API key after `#`; it keeps the chat's messages in `localStorage`, and leaves
 * what `useChat` gives it where a test can reach it.
 * @param hook the component's first lines, which make `chat` of `chatId`, `key` and `saved`
 */
const pageOf = (hook: string) => `
import { useChat } from "@ai-sdk/react";
import { APICallError, DefaultChatTransport } from "ai";
import { useEffect } from "react";
import { createRoot } from "react-dom/client";

const chatId = new URLSearchParams(location.search).get("chat");
const key = location.hash.slice(1);
const saved = JSON.parse(localStorage.getItem(chatId) ?? "[]");

function Page() {
  ${hook}
  useEffect(() => localStorage.setItem(chatId, JSON.stringify(chat.messages)), [chat.messages]);
  useEffect(() => void (window.chat = { ...chat }));
  return chat.messages.map(({ id, role, parts }) => (
    <p key={id} className={role}>{parts.map((part) => (part.type === "text" ? part.text : ""))}</p>
  ));
}

createRoot(document.body.appendChild(document.createElement("main"))).render(<Page />);
`;

/** The page's script as one file, as a bundler makes it for a browser. */
export async function bundleChatPage(hook: string): Promise<string> {
  // Where its imports are found from.
  const input = join(import.meta.dirname, "page.tsx");
  const bundle = await rolldown({
    input,
    platform: "browser",
    logLevel: "silent",
    transform: { define: { "process.env.NODE_ENV": '"production"' } },
    plugins: [
      {
        name: "page",
        resolveId: (id) => (id === input ? id : null),
        load: (id) => (id === input ? { code: pageOf(hook), moduleType: "tsx" } : null),
      },
    ],
  });
  try {
    const { output } = await bundle.generate({ format: "esm", codeSplitting: false });
    return output[0].code;
  } finally {
    await bundle.close();
  }
}
