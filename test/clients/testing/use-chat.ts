import { randomUUID } from "node:crypto";
import type { UseChatHelpers } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import type { Page } from "playwright-core";
import { openBrowser, serveSite } from "../../e2e/testing/browser.ts";
import { bundleChatPage } from "./chat-page.ts";
import { type Asker, LOOK_UP, LOOKED_UP, type Told, WEATHER_SCHEMA } from "./client.ts";
import type { Platform, Tenant } from "./platform.ts";
import { toldIn } from "./told-in.ts";

declare global {
  interface Window {
    /** The state of `useChat` when the page was rendered last. */
    chat: UseChatHelpers<UIMessage>;
    /** Fields that each of the page's requests has beside. */
    fields: object;
  }
}

/** A site whose pages have a chat each, of an origin other than the platform's. */
export interface ChatSite extends AsyncDisposable {
  /** A page with a new chat. */
  readonly open: (tenant?: Tenant) => Promise<Page>;
  /** Asks in a page of its own. */
  readonly client: Asker;
  /** Uncaught exceptions of pages. */
  readonly problems: readonly unknown[];
}

/** Serves pages with the chat of `hook`, and opens them in Chromium. */
export async function serveChats(platform: Platform, hook: string): Promise<ChatSite> {
  const bundle = await bundleChatPage(hook.replace("...body,", "...body, ...window.fields,"));
  const { server, origin } = await serveSite(bundle);
  const browser = await openBrowser();
  const context = await browser.newContext();
  context.setDefaultTimeout(0);
  const problems: unknown[] = [];

  const open = async (tenant?: Tenant) => {
    const page = await context.newPage();
    page.on("pageerror", (error) => problems.push(error));
    await page.goto(`${origin}/?chat=${randomUUID()}#${platform.key(tenant)}`);
    await page.waitForFunction(() => window.chat?.status === "ready");
    return page;
  };
  const client: Asker = {
    finish: { completed: "stop", cancelled: "cancelled" },
    comesBack: true,
    cuts: { from: 1_500, to: 4_000 },
    async ask({ scripts, tenant, tools, structured }) {
      const page = await open(tenant);
      const settings = {
        ...(tools && { tools: { look_up: { inputSchema: LOOK_UP.parameters } } }),
        ...(structured && { responseFormat: { type: "json", schema: WEATHER_SCHEMA } }),
      };
      const [first, ...further] = scripts;
      await send(page, { ...settings, options: first.options });
      for (const { options } of further) await answerCall(page, { ...settings, options });
      await untilEnded(page);
      const told = await readTold(page);
      await page.close();
      return told;
    },
  };
  return {
    open,
    client,
    problems,
    async [Symbol.asyncDispose]() {
      server.close();
      await browser.close();
    },
  };
}

/** Sends a message. Resolves at the end of its answer, or where the connection is lost. */
export function send(page: Page, body: object): Promise<void> {
  return page.evaluate((fields) => {
    window.fields = fields;
    return window.chat.sendMessage({ text: "Say it." });
  }, body);
}

/** Answers a call as a user who agrees. */
async function answerCall(page: Page, body: object): Promise<void> {
  await untilEnded(page);
  await page.evaluate(
    async ({ output, fields }) => {
      for (const part of window.chat.messages.at(-1)?.parts ?? [])
        if (part.type === "tool-look_up" && "toolCallId" in part)
          await window.chat.addToolOutput({ tool: "look_up", toolCallId: part.toolCallId, output });
      window.fields = fields;
      await window.chat.sendMessage();
    },
    { output: LOOKED_UP, fields: body },
  );
}

/** Resolves once the page has the end of its answer, or an error that it does not try again after. */
export async function untilEnded(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const { messages, status, error } = window.chat;
    const { finishReason } = (messages.at(-1)?.metadata ?? {}) as { finishReason?: string };
    const isFinal = error && (error.message.includes('"retryable":false') || !("isRetryable" in error));
    return status === "ready" ? finishReason !== undefined : isFinal && !(error instanceof TypeError);
  });
}

export async function readTold(page: Page): Promise<Told> {
  const { messages, message } = await page.evaluate(() => ({
    messages: window.chat.messages,
    message: window.chat.error?.message,
  }));
  return toldIn({ messages, error: message === undefined ? undefined : new Error(message) });
}
