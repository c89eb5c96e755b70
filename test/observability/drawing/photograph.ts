import type { Page } from "playwright-core";
import { PAGE_WIDTH } from "./draw-page.ts";

export interface Photograph {
  readonly png: Buffer;
  /** Texts of one drawing that lie on one another. */
  readonly overlaps: readonly string[];
}

/** A page of HTML as Chromium shows it. */
export async function photograph(page: Page, html: string): Promise<Photograph> {
  await page.setViewportSize({ width: PAGE_WIDTH, height: 100 });
  await page.setContent(html);
  const overlaps = await page.evaluate(findOverlaps);
  return { png: await page.screenshot({ fullPage: true }), overlaps };
}

/** Runs in the page. */
function findOverlaps(): string[] {
  const found: string[] = [];
  for (const svg of document.querySelectorAll("svg")) {
    const texts = [...svg.querySelectorAll("text")].map((text) => ({
      text: text.textContent,
      box: text.getBoundingClientRect(),
    }));
    for (const [index, a] of texts.entries())
      for (const b of texts.slice(index + 1))
        if (
          a.box.left < b.box.right - 1 &&
          b.box.left < a.box.right - 1 &&
          a.box.top < b.box.bottom - 3 &&
          b.box.top < a.box.bottom - 3
        )
          found.push(`${a.text} / ${b.text}`);
  }
  return found;
}
