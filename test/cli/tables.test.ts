import { expect, test } from 'vitest';
import { widthOf } from '../../src/terminal/text.ts';
import { NO_USAGE } from '../../src/usage.ts';
import { type CliHome, cliHome } from './cli-home.ts';

const COMMANDS = [
  ['status'],
  ['budget', 'list'],
  ['usage'],
  ['usage', '-g', 'model,agent'],
  ['sessions'],
  ['requests', '-n', '6'],
  ['keys', 'list'],
];

/** Two projects and two keys, long names, names in other scripts, and a budget that is full. */
async function busyHome(): Promise<CliHome> {
  const cli = cliHome();
  await cli.run(['projects', 'add', 'datenverarbeitung-und-auswertung']);
  const now = cli.clock.now();
  for (const [project, cap] of [
    ['default', '5'],
    ['datenverarbeitung-und-auswertung', '1.25'],
  ] as const) {
    await cli.run(['keys', 'create', '-p', project]);
    const limits = ['--rpm', '30', '--models', 'claude-sonnet-4-5-20250929,模型-強い-🚀,gpt-4.1-mini'];
    await cli.run([
      'keys',
      'create',
      '-p',
      project,
      '--label',
      `レビュー-🧪-${project}`,
      '--budget',
      '2',
      ...limits,
    ]);
    await cli.run(['budget', 'set', cap, '-p', project]);
    await cli.run(['budget', 'set', '100', '--period', 'monthly', '-p', project]);
    await cli.run(['budget', 'set', '0', '--period', 'weekly', '-p', project]);
  }
  const usage = { ...NO_USAGE, inputTokens: 1_234_567, cachedInputTokens: 1_200_000, outputTokens: 4_321 };
  await cli.record(
    ...Array.from({ length: 24 }, (_, i) => ({
      timeMs: now - (24 - i) * 60_000,
      projectId: 1 + (i % 2),
      provider: i % 3 === 0 ? 'openrouter' : 'anthropic',
      model:
        ['anthropic/claude-3.7-sonnet:thinking', 'claude-sonnet-4-5-20250929', '模型-強い-🚀'][i % 3] ?? '',
      agent: i % 2 === 0 ? 'claude' : 'codex',
      session: i % 4 === 0 ? '0199f2a3-6e1b-7c41-9d2e-4f5a6b7c8d9e' : `セッション-${i % 4}-🧪`,
      costNanoUsd: 110_000_000 + i * 1_000_000,
      usage,
    })),
    {
      ...{ timeMs: now - 30_000, projectId: 2, costNanoUsd: 0, status: 502, outcome: 'upstream_error' },
      ...{ provider: 'openrouter', model: 'anthropic/claude-3.7-sonnet:thinking' },
    },
  );
  return cli;
}

test('tables fit a terminal of 60 to 200 columns, and are whole in a pipe', async () => {
  const cli = await busyHome();
  for (const columns of [60, 80, 120, 200, undefined]) {
    const texts: string[] = [];
    for (const args of COMMANDS) {
      const screen = columns === undefined ? {} : { columns, tty: true, env: { NO_COLOR: '1' } };
      const stdout = (await cli.run(args, screen)).stdout.replace(/(sk-gw-\.{3})\S{4}/g, '$1abcd');
      const lines = stdout.trimEnd().split('\n');
      expect(Math.max(...lines.map(widthOf)), args.join(' ')).toBeLessThanOrEqual(columns ?? 1_000);
      if (columns === undefined) expect(stdout).not.toContain('…');
      texts.push(`$ gw ${args.join(' ')}\n${stdout}`);
    }
    await expect(texts.join('\n')).toMatchFileSnapshot(`tables/${columns ?? 'piped'}.txt`);
  }
});

test('doctor keeps to its columns at every width', async () => {
  const cli = cliHome();
  for (const columns of [60, 120]) {
    const { stdout } = await cli.run(['doctor', '--quick'], { columns, tty: true, env: { NO_COLOR: '1' } });
    const lines = stdout.trimEnd().split('\n');
    for (const line of lines) expect(line).toMatch(/^(ok {2}|! {3}|X {3})\S.{11} \S|^ {17}\S/);
    const texts = lines.filter((line) => !/^ +to fix: /.test(line) && !/\S{44}/.test(line));
    expect(Math.max(...texts.map(widthOf))).toBeLessThanOrEqual(columns);
  }
});
