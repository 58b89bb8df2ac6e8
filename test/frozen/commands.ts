/** Command lines that only read, by area. Each is run with `--json` and without, locally and remotely. */
export const READING: Readonly<Record<string, readonly string[]>> = {
  usage: [
    'usage',
    'usage -g model --from 7d',
    'usage -g agent,model --month 2026-03',
    'usage -g project --source all',
    'usage -g session -a claude',
    'usage -g key -p web',
    'usage -g repo --repo /home/me/shop',
    'usage -g day,project -s failed',
    'usage -s strange',
  ],
  requests: [
    'requests --since 25h -n 18',
    'requests -s blocked -n 3',
    'requests -p web --since 2d -n 4',
    'requests <failed>',
    'requests <kept>',
    'requests <kept> --diff',
    'requests <rated>',
    'requests -s strange',
  ],
  sessions: [
    'sessions',
    'sessions thread-1 -a claude',
    'sessions -p web -n 2',
    'sessions resume thread-1',
    'cache',
    'cache --since 7d -n 3',
  ],
  limits: ['limits list', 'limits list -g model --since 7d'],
  status: ['status', 'dashboard'],
  budgets: [
    'budget list',
    'budget list -p web',
    'budget check -p web',
    'budget check -p default --repo /home/me/shop',
    'budget backtest 0.05 --from 7d',
    'budget backtest 0.2 --from 7d --per agent --on-limit fallback:openai/gpt-5-mini --from 80%',
    'budget suggest',
    'asks',
  ],
  accounts: [
    'projects list',
    'plan show -p web',
    'keys list',
    'keys list -p web --all',
    'prices list',
    'prices list gpt-4.1',
    'prices diff --since 7d',
    'providers list',
    'models test',
    'webhooks list',
    'webhooks deliveries -n 5',
    'webhooks deliveries wh_2 --failed',
    'team status',
  ],
};

/** Commands that print on until they are stopped. */
export const ENDLESS: readonly string[] = ['tail -n 5'];

/** Commands that read this machine, or write files. Each is run with `--json`, locally, in this order. */
export const MACHINE: readonly string[] = [
  'env',
  'env --url http://gw.example.com:4747',
  'connect',
  'coverage --since 20d',
  'coverage codex --since 1d',
  'import',
  'usage -g agent --source imported',
  'optimize <user>/request.json',
  'optimize <user>/request.json --level balanced --diff',
  'optimize report',
  'route <user>/request.json',
  'route learn <user>/labels.jsonl',
  'reconcile openai --csv <user>/bill.csv --from 2026-03-10 --to 2026-03-20',
  'reconcile openai --csv <user>/none.csv',
  'config list',
  'limits guard',
  'config get timezone',
  'config get tomorrow',
  'logs -n 2',
  'providers test mock',
  'providers show mock',
  'backup <user>/saved.gw',
  ...['create postgres://127.0.0.1:9/team', 'join', 'members', 'forget 2', 'recover'].map(
    (each) => `team ${each}`,
  ),
  ...['list', 'set 5', 'remove'].map((each) => `team budgets ${each}`),
  ...['list', 'add https://example.com/hook', 'remove wh_1'].map((each) => `team webhooks ${each}`),
  ...['list', 'create -p web', 'revoke 1 --yes'].map((each) => `team keys ${each}`),
];

/** Commands for a machine that has no gw yet, in this order. The last one logs in to the daemon. */
export const NEW_HOME: readonly string[] = [
  'restore <user>/saved.gw --yes',
  'status',
  'init --yes --budget 5',
  'login <gw> --key-stdin',
];

/** Commands that change what gw has. Each is run with `--json`, locally and remotely, on homes that are alike. */
export const CHANGING: readonly string[] = [
  'budget set 7 --period weekly -p web --alert 50,90',
  'budget set --max-rate 2/hour -p web',
  'budget set much',
  'budget raise 1 web/daily --for 2h',
  'budget raise 1 web/none',
  'keys create -p web --label new --rpm 5 --expires 30d --budget 3',
  'keys rotate 3 --overlap 1h',
  'keys rotate 99',
  'webhooks add https://example.com/hook -p web --format slack --events budget.exceeded',
  'webhooks add ftp://example.com',
  'webhooks disable wh_2',
  'webhooks enable wh_3',
  'webhooks rotate wh_3',
  'webhooks test wh_1',
  'webhooks remove wh_2 --yes',
  'webhooks replay dlv_4',
  'webhooks replay --failed --since 2d',
  'prices update --packaged',
  'approve <ask> --once',
  'deny ask_00000000000',
  'replay clear -p web',
  'replay clear',
];

/** Commands with `--json` that are run by no test here, and why. */
export const UNFROZEN: Readonly<Record<string, string>> = {
  start: 'starts a process; test/cli/daemon',
  restart: 'starts a process; test/cli/daemon',
  doctor: 'examines the machine; test/cli/commands/doctor.test.ts',
  'service status': "asks the machine's service manager; test/cli/commands/service.test.ts",
  'webhooks listen': 'never ends; test/cli/commands/webhooks.test.ts',
};
