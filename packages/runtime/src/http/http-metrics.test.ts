import { expect, test } from "vitest";
import { HttpMetrics } from "./http-metrics.ts";
import { createMetrics } from "./metrics.ts";

const seriesOf = (text: string) =>
  [...text.matchAll(/^reprise_http_request_seconds_count(\{.*\}) (\d+)$/gm)].map(([, labels, count]) => [
    labels,
    Number(count),
  ]);

test("requests are counted by method, route and class of status, and whatever strangers send makes one series", async () => {
  const metrics = createMetrics({ processMetrics: false });
  const http = new HttpMetrics(metrics, "delivery");
  for (const status of [200, 204, 503]) http.answered({ method: "GET", route: "/v1/x/:id", status }, 0.02);
  for (const method of ["PROPFIND", "LOCK", "M-SEARCH"])
    http.answered({ method, route: undefined, status: 404 }, 0.02);
  http.answered({ method: "POST", route: "/v1/x", status: undefined }, 3);
  const text = await metrics.render();
  expect(seriesOf(text)).toEqual([
    ['{service="delivery",method="GET",route="/v1/x/:id",status="2xx"}', 2],
    ['{service="delivery",method="GET",route="/v1/x/:id",status="5xx"}', 1],
    ['{service="delivery",method="other",route="none",status="4xx"}', 3],
    ['{service="delivery",method="POST",route="/v1/x",status="left"}', 1],
  ]);
});

test("requests are in flight from their arrival until their answer is over, for each service of a process", async () => {
  const metrics = createMetrics({ processMetrics: false });
  const [delivery, witness] = [new HttpMetrics(metrics, "delivery"), new HttpMetrics(metrics, "witness")];
  for (const http of [delivery, delivery, witness]) http.arrived();
  delivery.over();
  const text = await metrics.render();
  expect(text).toContain('reprise_http_requests_in_flight{service="delivery"} 1\n');
  expect(text).toContain('reprise_http_requests_in_flight{service="witness"} 1\n');
});
