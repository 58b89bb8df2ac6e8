import { decodeDashboard } from '../reading/dashboard-wire.ts';
import type { DashboardFeed } from '../reading/reader.ts';
import type { DashboardView } from '../reading/schemas.ts';
import type { AskRemote } from './client.ts';

interface Answer {
  version: string;
  /** Null if the version is the one that was asked about. */
  data: DashboardView | null;
}

/** Polls the dashboard of another gw, which sends its data only after a change. */
export function remoteDashboard(ask: AskRemote): DashboardFeed {
  /** The window and filter of the last answer, and its version. */
  let last: { view: string; version: string } | undefined;
  return {
    changed: () => true,
    async read({ window, filter }) {
      const view = JSON.stringify([window, filter]);
      const unless = last?.view === view ? last.version : undefined;
      const query = { window, kind: filter.kind, text: filter.text || undefined, unless };
      const { version, data } = (await ask({ path: '/v1/gw/dashboard', query })) as Answer;
      last = { view, version };
      return data === null ? undefined : decodeDashboard(data);
    },
  };
}
