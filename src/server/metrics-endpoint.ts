import type { Gateway } from '../gateway/context/gateway.ts';
import { formatRequestId } from '../ids.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Db } from '../store/database/open.ts';
import { mustBeAdmin } from './must-be-admin.ts';
import type { Handler } from './routes.ts';

interface Options {
  gateway: Pick<Gateway, 'authenticator' | 'calendar' | 'clock' | 'ledger' | 'router'>;
  /** A connection of its own for what is polled. */
  pollDb: () => Promise<Db>;
}

/** `GET /metrics`. What it is made of is loaded, and begins to count, at the first scrape. */
export function metricsEndpoint({ gateway, pollDb }: Options): Handler {
  let metrics: Promise<Metrics> | undefined;

  async function create(): Promise<Metrics> {
    const { createMetrics } = await import('../metrics/metrics.ts');
    const { ledger, clock, calendar, router } = gateway;
    const health = () => router.health.snapshot();
    return createMetrics({ db: await pollDb(), ledger, clock, calendar, health });
  }

  return async ({ request, response, id }) => {
    const caller = gateway.authenticator.authenticate(request.headers);
    mustBeAdmin(caller, 'reading metrics', 'gw usage');
    metrics ??= create();
    const { contentType, body } = await (await metrics).page(request.headers.accept);
    if (response.destroyed) return;
    response.writeHead(200, {
      'content-type': contentType,
      'content-length': Buffer.byteLength(body),
      'x-service-request-id': formatRequestId(id),
    });
    response.end(body);
  };
}
