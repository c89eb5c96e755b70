import { afterEach, describe, expect, it, vi } from "vitest";
import { SYSTEM_RUNTIME } from "./runtime.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

/** A page's window and document, as far as a wake-up concerns them. */
function stubPage() {
  const window = new EventTarget();
  const document = Object.assign(new EventTarget(), { visibilityState: "hidden" });
  vi.stubGlobal("document", document);
  vi.stubGlobal("addEventListener", window.addEventListener.bind(window));
  vi.stubGlobal("removeEventListener", window.removeEventListener.bind(window));
  return { window, document };
}

describe("a wake-up", () => {
  it("is a network that is back, or a page that is shown again, until the listener is taken back", () => {
    const { window, document } = stubPage();
    const onWake = vi.fn<() => void>();
    const stop = SYSTEM_RUNTIME.onWake(onWake);
    window.dispatchEvent(new Event("online"));
    expect(onWake).toHaveBeenCalledTimes(1);
    document.dispatchEvent(new Event("visibilitychange"));
    expect(onWake).toHaveBeenCalledTimes(1);
    document.visibilityState = "visible";
    document.dispatchEvent(new Event("visibilitychange"));
    expect(onWake).toHaveBeenCalledTimes(2);
    stop();
    window.dispatchEvent(new Event("online"));
    document.dispatchEvent(new Event("visibilitychange"));
    expect(onWake).toHaveBeenCalledTimes(2);
  });

  it("never comes where there is neither a window nor a document, as in Node", () => {
    vi.stubGlobal("addEventListener", undefined);
    vi.stubGlobal("removeEventListener", undefined);
    const stop = SYSTEM_RUNTIME.onWake(() => {});
    expect(stop()).toBeUndefined();
  });
});
