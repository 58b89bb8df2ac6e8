import type { CommandEntry } from './command.ts';

const RUN = 'Run gw:';
const USE = 'Use it:';
const SPEND = 'Spending:';
const SET_UP = 'Set it up:';

/** Every command of gw. A new one is a file in commands/ and a line here; only the one that runs is loaded. */
// biome-ignore format: a command a line
export const CATALOG: readonly CommandEntry[] = [
  { name: 'init', group: RUN, about: 'guided first run', load: async () => (await import('./commands/init.ts')).init },
  { name: 'start', group: RUN, about: 'start gw in the background', load: async () => (await import('./commands/start.ts')).start },
  { name: 'stop', group: RUN, about: 'stop it, once running requests have ended', load: async () => (await import('./commands/stop.ts')).stop },
  { name: 'restart', group: RUN, about: 'stop it and start it again', load: async () => (await import('./commands/restart.ts')).restart },
  { name: 'status', group: RUN, about: 'is it running, and how much was spent today', load: async () => (await import('./commands/status.ts')).status },
  { name: 'serve', group: RUN, about: 'run gw in the foreground (containers, systemd, launchd)', load: async () => (await import('./commands/serve.ts')).serve },
  { name: 'logs', group: RUN, about: 'what the daemon logged', load: async () => (await import('./commands/logs.ts')).logs },
  { name: 'doctor', group: RUN, about: 'check the installation, and say how to mend it', load: async () => (await import('./commands/doctor.ts')).doctor },

  { name: 'env', group: USE, about: 'export lines for a shell: eval "$(gw env)"', load: async () => (await import('./commands/env.ts')).env },
  { name: 'run', group: USE, about: 'run a command with gw as its provider', load: async () => (await import('./commands/run.ts')).run },
  { name: 'models', group: USE, about: 'the models that can be asked for', load: async () => (await import('./commands/models.ts')).models },
  { name: 'optimize', group: USE, about: 'what compression would do to a request; sends nothing', load: async () => (await import('./commands/optimize.ts')).optimize },
  { name: 'route', group: USE, about: 'where a request would go, why, and for how much; sends nothing', load: async () => (await import('./commands/route.ts')).route },

  { name: 'usage', group: SPEND, about: 'what was used and spent, by day, model, project, program or repository', load: async () => (await import('./commands/usage.ts')).usage },
  { name: 'requests', group: SPEND, about: 'the requests that were made, or one of them', load: async () => (await import('./commands/requests.ts')).requests },
  { name: 'tail', group: SPEND, about: 'the requests as they come, a line each', load: async () => (await import('./commands/tail.ts')).tail },
  { name: 'dashboard', aliases: ['top'], group: SPEND, about: 'watch the money move, and change what it may do', load: async () => (await import('./commands/dashboard.ts')).dashboard },
  { name: 'budget', aliases: ['budgets'], group: SPEND, bare: 'list', about: 'caps on what a project may spend', load: async () => (await import('./commands/budget.ts')).budget },
  { name: 'prices', group: SPEND, bare: 'list', about: 'prices that gw does not know, or knows wrong', load: async () => (await import('./commands/prices.ts')).prices },

  { name: 'providers', group: SET_UP, bare: 'list', about: 'where requests are sent', load: async () => (await import('./commands/providers.ts')).providers },
  { name: 'projects', group: SET_UP, bare: 'list', about: 'who spends: each has keys, budgets and usage', load: async () => (await import('./commands/projects.ts')).projects },
  { name: 'plan', group: SET_UP, bare: 'show', about: 'the plan of a project', load: async () => (await import('./commands/plan.ts')).plan },
  { name: 'keys', group: SET_UP, bare: 'list', about: 'keys that clients use gw with', load: async () => (await import('./commands/keys.ts')).keys },
  { name: 'webhooks', group: SET_UP, bare: 'list', about: 'who is told of budgets and blocked requests', load: async () => (await import('./commands/webhooks.ts')).webhooks },
  { name: 'config', group: SET_UP, bare: 'list', about: 'settings, and where each comes from', load: async () => (await import('./commands/config.ts')).config },
  { name: 'backup', group: SET_UP, about: 'copy the database, while gw runs', load: async () => (await import('./commands/backup.ts')).backup },
  { name: 'completion', group: SET_UP, about: 'completion for bash, zsh or fish', load: async () => (await import('./commands/completion.ts')).completion },
  { name: 'complete', group: SET_UP, hidden: true, about: 'what may come next on a command line', load: async () => (await import('./commands/complete.ts')).complete },
];
