import { readSecrets, TEAM_URL } from '../config/secrets.ts';
import { noTeam, readMembership } from '../store/team/membership.ts';
import type { AskTeamUsage } from '../store/team/usage-query.ts';
import type { TeamAuthority } from '../team/authority.ts';
import type { BootOptions, Core } from './open-core.ts';

/** Reports of the team's usage, for whoever asks the daemon. Over a connection of its own: no sync waits for a report. */
export interface TeamUsageReports {
  ask: AskTeamUsage;
  close(): Promise<void>;
}

interface Answer {
  endsAt: number;
  answer: ReturnType<AskTeamUsage>;
}

/** Dashboards that poll get the same answer for so long; after a failure, the database is left alone for less. */
const CACHE_MS = 15_000;
const FAILURE_CACHE_MS = 3_000;

export function createTeamUsage({
  db,
  clock,
  paths,
  openTeam,
}: Core & { openTeam: NonNullable<BootOptions['openTeam']> }): TeamUsageReports {
  let opened: { url: string; authority: Promise<TeamAuthority> } | undefined;
  const answers = new Map<string, Answer>();

  async function close(): Promise<void> {
    const { authority } = opened ?? {};
    opened = undefined;
    await authority?.then((open) => open.close()).catch(() => {});
  }

  async function authorityAt(url: string): Promise<TeamAuthority> {
    if (opened?.url !== url) {
      await close();
      opened = { url, authority: openTeam(url) };
      opened.authority.catch(() => {
        opened = undefined;
      });
    }
    return opened.authority;
  }

  return {
    async ask(query) {
      if (!readMembership(db)) throw noTeam();
      const url = readSecrets(paths.credentials)[TEAM_URL] ?? '';
      const now = clock.monotonic();
      for (const [key, { endsAt }] of answers) if (endsAt <= now) answers.delete(key);
      const key = JSON.stringify([url, query.groupBy, query.from, query.to]);
      const cached = answers.get(key);
      if (cached) return cached.answer;
      const { askTeamUsage } = await import('../team/ask-usage.ts');
      const made: Answer = {
        endsAt: now + CACHE_MS,
        answer: authorityAt(url).then((authority) => askTeamUsage(authority, query)),
      };
      made.answer.catch(() => {
        made.endsAt = clock.monotonic() + FAILURE_CACHE_MS;
      });
      answers.set(key, made);
      return made.answer;
    },
    close,
  };
}
