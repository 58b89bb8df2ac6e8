import { type Calendar, createCalendar } from '../../calendar.ts';
import { GwError } from '../../errors.ts';
import { systemRandom } from '../../ids.ts';
import { runOf } from '../../operations/local.ts';
import type { Polls } from '../../operations/reader.ts';
import type { Sources } from '../../operations/sources.ts';
import { resolvePaths } from '../../paths.ts';
import { createPolledConnections } from '../../store/dashboard/polled-connections.ts';
import { answerCalls } from '../../worker-calls.ts';
import type { ReportAnswer, ReportCall } from './reports.ts';

let connections: ReturnType<typeof createPolledConnections> | undefined;
let calendar: Calendar | undefined;
const polls: Polls = { tails: new Map(), feeds: new Map(), random: systemRandom };

/** The thread behind `createReports`. */
answerCalls(async ({ name, input, ...call }: ReportCall): Promise<ReportAnswer> => {
  try {
    return { answer: await (await runOf(name))(await sourcesOf(call), input) };
  } catch (error) {
    if (!(error instanceof GwError)) throw error;
    const { message, status, type, code, param, fields } = error;
    return { refusal: { message, status, type, code, param: param ?? undefined, fields } };
  }
});

async function sourcesOf({ path, timezone, scope, nowMs, pricing }: Omit<ReportCall, 'name' | 'input'>) {
  connections ??= createPolledConnections(path);
  if (calendar?.timezone !== timezone) calendar = createCalendar(timezone);
  const db = await connections.open();
  const now = () => nowMs;
  const sources: Partial<Sources> = {
    db,
    pollDb: connections.open,
    ...{ scope, calendar, now, polls },
    ...(pricing && { settings: () => pricing.settings, catalog: () => catalogOf(db, pricing, now) }),
  };
  // Reports use no more.
  return sources as Sources;
}

/** The catalog of the running gateway. Loads the bundled price table, which is large. */
async function catalogOf(
  db: Sources['db'],
  { settings: { providers }, home }: NonNullable<ReportCall['pricing']>,
  now: () => number,
) {
  const { catalogIn } = await import('../../operations/known-prices.ts');
  return catalogIn(db, resolvePaths({ GW_HOME: home }).prices, { providers, now });
}
