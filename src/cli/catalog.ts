import { type CommandEntry, RUN } from './command.ts';
import { SERVE } from './serve/entry.ts';

const USE = 'Use gw:';
const SPEND = 'Spending:';
const SET_UP = 'Configure gw:';

/**
 * All commands. To add one: a file in commands/, a line here and its name in terminal/command-names.ts. Only the command
 * that runs is loaded.
 */
// biome-ignore format: one command per line
export const CATALOG: readonly CommandEntry[] = [
  { name: 'init', group: RUN, reach: 'local', about: 'set up gw step by step', load: async () => (await import('./commands/init.ts')).init },
  { name: 'start', group: RUN, reach: 'local', about: 'start gw in the background', load: async () => (await import('./commands/start.ts')).start },
  { name: 'stop', group: RUN, reach: 'local', about: 'stop gw after running requests finish', load: async () => (await import('./commands/start.ts')).stop },
  { name: 'restart', group: RUN, rare: true, reach: 'local', about: 'stop gw and start it again', load: async () => (await import('./commands/start.ts')).restart },
  { name: 'status', group: RUN, about: 'show whether gw is running and what was spent today', load: async () => (await import('./commands/status.ts')).status },
  SERVE,
  { name: 'service', group: RUN, reach: 'local', bare: 'status', about: 'start gw at login, and again if it crashes', load: async () => (await import('./commands/service.ts')).service },
  { name: 'logs', group: RUN, reach: 'local', about: 'show the log of the daemon', load: async () => (await import('./commands/logs.ts')).logs },
  { name: 'doctor', group: RUN, reach: 'local', about: 'check the installation and suggest fixes', load: async () => (await import('./commands/doctor.ts')).doctor },

  { name: 'env', group: USE, about: 'print export lines for a shell: eval "$(gw env)"', load: async () => (await import('./commands/env.ts')).env },
  { name: 'run', group: USE, about: 'run a command with gw as its provider', load: async () => (await import('./commands/run.ts')).run },
  { name: 'connect', group: USE, about: 'point the settings of a coding agent at gw, and prove it', load: async () => (await import('./commands/connect.ts')).connect },
  { name: 'disconnect', group: USE, rare: true, about: 'put the settings of a coding agent back', load: async () => (await import('./commands/connect.ts')).disconnect },
  { name: 'coverage', group: USE, rare: true, about: 'compare the logs of coding agents with what came through gw', load: async () => (await import('./commands/coverage.ts')).coverage },
  { name: 'models', group: USE, rare: true, about: 'list the available models', load: async () => (await import('./commands/models.ts')).models },
  { name: 'optimize', group: USE, rare: true, about: 'show what compression would do to a request; sends nothing', load: async () => (await import('./commands/optimize.ts')).optimize },
  { name: 'route', group: USE, rare: true, about: 'show where a request would go, why, and at what cost; sends nothing', load: async () => (await import('./commands/route.ts')).route },

  { name: 'usage', group: SPEND, about: 'show usage and cost by day, model, project and more', load: async () => (await import('./commands/usage.ts')).usage },
  { name: 'import', group: SPEND, rare: true, reach: 'local', about: 'add what coding agents logged before gw or beside it', load: async () => (await import('./commands/import.ts')).importLogs },
  { name: 'cache', group: SPEND, rare: true, about: "show what the providers' caches missed, and why", load: async () => (await import('./commands/cache.ts')).cache },
  { name: 'replay', group: SPEND, rare: true, about: 'delete answers that are kept to be replayed', load: async () => (await import('./commands/replay.ts')).replay },
  { name: 'reconcile', group: SPEND, rare: true, about: "compare the ledger with a provider's own cost report", load: async () => (await import('./commands/reconcile.ts')).reconcileBill },
  { name: 'limits', group: SPEND, rare: true, reach: 'local', remote: ['list'], bare: 'list', about: "show the windows of subscriptions, and who used them", load: async () => (await import('./commands/limits.ts')).limits },
  { name: 'sessions', group: SPEND, about: 'list the sessions of agents, or show one', load: async () => (await import('./commands/sessions.ts')).sessions },
  { name: 'statusline', group: SPEND, rare: true, about: 'print one line for the status line of a coding agent', load: async () => (await import('./commands/statusline.ts')).statusline },
  { name: 'requests', group: SPEND, about: 'list requests, or show one', load: async () => (await import('./commands/requests.ts')).requests },
  { name: 'tail', group: SPEND, rare: true, about: 'print requests as they are recorded, one per line', load: async () => (await import('./commands/tail.ts')).tail },
  { name: 'dashboard', aliases: ['top'], group: SPEND, about: 'watch spending live, and manage budgets and keys', load: async () => (await import('./commands/dashboard.ts')).dashboard },
  { name: 'open', group: SPEND, about: "show gw's page in a browser", load: async () => (await import('./commands/open.ts')).open },
  { name: 'budget', aliases: ['budgets'], group: SPEND, bare: 'list', about: 'cap what a project may spend', load: async () => (await import('./commands/budget.ts')).budget },
  { name: 'asks', group: SPEND, rare: true, about: 'list requests that wait for an answer beyond a budget', load: async () => (await import('./commands/asks.ts')).asks },
  { name: 'approve', group: SPEND, rare: true, about: 'let a request go beyond a budget that asks', load: async () => (await import('./commands/asks.ts')).approve },
  { name: 'deny', group: SPEND, rare: true, about: 'refuse a request that waits for an answer', load: async () => (await import('./commands/asks.ts')).deny },
  { name: 'prices', group: SPEND, rare: true, bare: 'list', about: 'show and set the prices of models', load: async () => (await import('./commands/prices.ts')).prices },

  { name: 'providers', group: SET_UP, reach: 'local', remote: ['list'], bare: 'list', about: 'manage the providers that requests are sent to', load: async () => (await import('./commands/providers.ts')).providers },
  { name: 'projects', group: SET_UP, bare: 'list', about: 'manage projects, each with its own keys, budgets and usage', load: async () => (await import('./commands/projects.ts')).projects },
  { name: 'plan', group: SET_UP, rare: true, bare: 'show', about: 'show or change the plan of a project', load: async () => (await import('./commands/projects.ts')).plan },
  { name: 'keys', group: SET_UP, bare: 'list', about: 'manage the keys that clients use with gw', load: async () => (await import('./commands/keys.ts')).keys },
  { name: 'webhooks', group: SET_UP, bare: 'list', about: 'send budget events and blocked requests to URLs', load: async () => (await import('./commands/webhooks.ts')).webhooks },
  { name: 'team', group: SET_UP, rare: true, reach: 'local', remote: ['status'], bare: 'status', about: 'share budgets with the gateways of a team', load: async () => (await import('./commands/team.ts')).team },
  { name: 'config', group: SET_UP, reach: 'local', bare: 'list', about: 'show and change settings', load: async () => (await import('./commands/config.ts')).config },
  { name: 'backup', group: SET_UP, rare: true, reach: 'local', about: 'back up the database while gw runs', load: async () => (await import('./commands/backup.ts')).backup },
  { name: 'restore', group: SET_UP, rare: true, reach: 'local', about: 'bring a backup back, here or on another machine', load: async () => (await import('./commands/backup.ts')).restore },
  { name: 'login', group: SET_UP, rare: true, reach: 'any', about: 'use the gw of another machine from here', load: async () => (await import('./commands/login.ts')).login },
  { name: 'logout', group: SET_UP, rare: true, reach: 'any', about: "use this machine's gw again", load: async () => (await import('./commands/login.ts')).logout },
  { name: 'completion', group: SET_UP, rare: true, reach: 'any', about: 'print a completion script for bash, zsh or fish', load: async () => (await import('./commands/complete.ts')).completion },
  { name: 'complete', group: SET_UP, reach: 'any', hidden: true, about: 'print the words that can come next on a command line', load: async () => (await import('./commands/complete.ts')).complete },
];
