import { formatRequestId } from '../../ids.ts';
import { usdFields } from '../../money.ts';
import { describeExcess, readDistrustedBounds } from '../../store/budgets/distrusted-bounds.ts';
import { createProviderHealthReader } from '../../store/dashboard/provider-health.ts';
import { byColumnName } from '../../store/database/columns.ts';
import { savedSince } from '../../store/optimizer/outcome.ts';
import { usageReport } from '../../store/reports/usage-report.ts';
import { listRunaways, type RunawaySession } from '../../store/runaways/runaways.ts';
import { viewHealth } from '../provider-views.ts';
import type { DistrustedBoundView, RunawayView, StatusView } from '../schemas/status.ts';
import { projectToRead, type Sources } from '../sources.ts';
import { budgets } from './budgets.ts';
import { limits } from './limits.ts';

const REQUEST_COUNTS = ['requests', 'blockedRequests', 'failedRequests', 'unpricedRequests'] as const;
const WEEK_MS = 7 * 86_400_000;

/** Today's usage, the budgets, the providers, and why some of them can't be used. */
export async function status(sources: Sources): Promise<StatusView> {
  const { db, scope, calendar, now, registry } = sources;
  const today = calendar.dateOf(now());
  const projectId = projectToRead(db, scope, undefined);
  const span = { from: today, to: today, ...(projectId === undefined ? {} : { projectId }) };
  const { total } = await usageReport(db, calendar, { ...span, groupBy: 'day' });
  const week = savedSince(db, now() - WEEK_MS, projectId);
  const { providers, problems } = await registry();
  const runaways = listRunaways(db, { now: now(), projectId }).map(viewRunaway);
  const windows = scope.admin ? await limits(sources) : [];
  const own = [...providers.values()].filter(({ source }) => source !== 'built-in');
  return {
    timezone: calendar.timezone,
    today: {
      ...byColumnName(REQUEST_COUNTS, (name) => total[name]),
      ...usdFields('cost', total.costNanoUsd),
      ...usdFields('saved', total.savedNanoUsd),
    },
    optimizer_week: {
      saved_tokens: week.savedTokens,
      ...usdFields('saved', week.savedNanoUsd),
      left_requests: week.leftRequests,
    },
    budgets: await budgets(sources, {}),
    ...(windows.length > 0 && { limits: windows }),
    ...(runaways.length > 0 && { runaways }),
    providers: own.map(({ name }) => name),
    provider_health: viewHealth(createProviderHealthReader(db)(now(), projectId), providers),
    problems: [
      ...problems.map(({ name, message }) => `provider ${name} ${message}`),
      ...readDistrustedBounds(db, now()).map(
        ({ provider, model, bound }) =>
          `${provider}/${model} ${describeExcess(bound)}: its holds are larger for now`,
      ),
    ],
  };
}

/** A session that is taken for a runaway. */
export function viewRunaway({
  session,
  agent,
  project,
  reason,
  message,
  foundAt,
}: RunawaySession): RunawayView {
  const found_at = new Date(foundAt).toISOString();
  return { session, agent: agent || null, project_id: project, reason, message, found_at };
}

/** The providers without the built-in sandbox, which has no address of its own. */
export async function providers({ registry }: Sources) {
  const { providers, problems } = await registry();
  const own = [...providers.values()].filter(({ source }) => source !== 'built-in');
  return {
    providers: own.map(({ name, origin, basePath, wire, keySource, source }) => ({
      name,
      base_url: origin + basePath,
      wire,
      key_source: keySource,
      source,
    })),
    problems,
  };
}

export async function distrustedBounds({ db, now }: Sources): Promise<DistrustedBoundView[]> {
  return readDistrustedBounds(db, now()).map(({ provider, model, bound, at, requestId }) => ({
    provider,
    model,
    bound,
    at: new Date(at).toISOString(),
    request_id: formatRequestId(requestId),
  }));
}
