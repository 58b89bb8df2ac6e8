import { type Calendar, createCalendar } from '../../calendar.ts';
import { GwError } from '../../errors.ts';
import { systemRandom } from '../../ids.ts';
import { runOf } from '../../operations/local.ts';
import type { Polls } from '../../operations/reader.ts';
import type { Sources } from '../../operations/sources.ts';
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

async function sourcesOf({ path, timezone, scope, nowMs }: Omit<ReportCall, 'name' | 'input'>) {
  connections ??= createPolledConnections(path);
  if (calendar?.timezone !== timezone) calendar = createCalendar(timezone);
  const sources: Pick<Sources, 'db' | 'pollDb' | 'scope' | 'calendar' | 'now' | 'polls'> = {
    db: await connections.open(),
    pollDb: connections.open,
    ...{ scope, calendar, now: () => nowMs, polls },
  };
  // Reports use no more.
  return sources as Sources;
}
