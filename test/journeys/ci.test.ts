import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { cliHome, stopAfterwards } from '../cli/cli-home.ts';

const ROOT = join(import.meta.dirname, '../..');
const DOCUMENT = readFileSync(join(ROOT, 'docs/ci.md'), 'utf8');

interface Step {
  name?: string;
  uses?: string;
  run?: string;
  if?: string;
  env?: Record<string, string>;
}

interface Workflow {
  name: string;
  on: string;
  jobs: Record<string, { 'runs-on': string; env?: Record<string, string>; steps: Step[] }>;
}

/** The workflows in docs/ci.md. Throws on anything that a YAML parser only warns of. */
const workflows = [...DOCUMENT.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => {
  const document = parseDocument(text, { uniqueKeys: true, strict: true });
  expect([...document.errors, ...document.warnings]).toEqual([]);
  return document.toJS() as Workflow;
});

/** A client that asks until it is refused, and says so. */
const AGENT = `
const { OPENAI_BASE_URL, OPENAI_API_KEY } = process.env;
const body = JSON.stringify({ model: 'sandbox/large', messages: [{ role: 'user', content: 'Hello '.repeat(20_000) }] });
let status = 200;
for (let asked = 0; status === 200 && asked < 1000; asked++) {
  const headers = { authorization: 'Bearer ' + OPENAI_API_KEY, 'content-type': 'application/json', 'x-service-optimize': 'off' };
  const answer = await fetch(OPENAI_BASE_URL + '/chat/completions', { method: 'POST', headers, body });
  status = answer.status;
  await answer.text();
}
console.log('refused with ' + status);
`;

test('every workflow in docs/ci.md has jobs, and steps that run or use something', () => {
  expect(workflows).toHaveLength(2);
  for (const { name, on, jobs } of workflows) {
    expect([name, on]).toEqual(['agent', 'workflow_dispatch']);
    for (const { 'runs-on': machine, steps } of Object.values(jobs)) {
      expect(machine).toBe('ubuntu-latest');
      for (const step of steps)
        expect(Object.keys(step).filter((key) => key === 'run' || key === 'uses')).toHaveLength(1);
    }
  }
});

test('the steps of the first one stop an agent at $2', () => {
  const cli = cliHome({ timezone: 'UTC' });
  stopAfterwards(cli);
  const bin = join(cli.paths.home, 'bin');
  mkdirSync(bin);
  symlinkSync(join(ROOT, 'bin/gw'), join(bin, 'gw'));
  const agent = join(cli.paths.home, 'agent.mjs');
  writeFileSync(agent, AGENT);
  const env = { ...cli.env, PATH: `${bin}:${cli.env.PATH}` };
  /** Runs a step as GitHub does, with the agent of this test. */
  const run = (name: string) => {
    const step = workflows[0]?.jobs.agent?.steps.find((each) => each.name === name);
    const script = step?.run?.replace('python agent.py', `'${process.execPath}' '${agent}'`) ?? '';
    expect(script).not.toBe('');
    try {
      return {
        status: 0,
        stdout: execFileSync('bash', ['-e', '-c', script], { env, encoding: 'utf8', stdio: 'pipe' }),
      };
    } catch (error) {
      const { status, stdout } = error as { status: number; stdout: string };
      return { status, stdout };
    }
  };

  expect(run('Start gw').status).toBe(0);
  expect(run('Run the agent with a cap of $2')).toEqual({ status: 0, stdout: 'refused with 402\n' });
  expect(run('Show what it cost').stdout).toMatch(/sandbox\/large.*\$1\.\d/);
  const json = execFileSync('gw', ['usage', '--json'], { env, encoding: 'utf8' });
  const { total } = JSON.parse(json) as { total: { cost_usd: number } };
  expect(total.cost_usd).toBeGreaterThan(1.5);
  expect(total.cost_usd).toBeLessThanOrEqual(2);
}, 180_000);
