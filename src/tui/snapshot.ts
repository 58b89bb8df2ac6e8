import type { Clock } from '../clock.ts';
import { type DashboardProps, drawDashboard } from './dashboard.ts';
import { textRows } from './frame.ts';
import type { Source } from './source.ts';
import type { Size } from './state/layout.ts';
import { initialState, receive } from './state/state.ts';

export interface SnapshotOptions extends Omit<DashboardProps, 'state'> {
  source: Source;
  clock: Clock;
  size: Size;
}

/** Renders one frame of the dashboard as text. */
export async function snapshot({ source, clock, size, ...props }: SnapshotOptions): Promise<string> {
  const now = clock.now();
  const start = initialState({ size, readonly: true, now });
  const data = await source.read({ window: start.window, filter: start.filter, now });
  const newest = data?.requests[0];
  const detail = newest ? ((await source.request(newest.id)) ?? null) : null;
  const daemon = await source.daemon();
  const state = [
    ...(data ? [{ type: 'data', data } as const] : []),
    { type: 'daemon', daemon, now } as const,
    { type: 'agents', agents: await source.agents() } as const,
    { type: 'detail', detail } as const,
  ].reduce(receive, start);
  return textRows(drawDashboard({ state, ...props })).join('\n');
}
