// What is measured: nothing in between, the bare proxy, nginx and GoModel where they are installed, and gw with everything on.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { join } from 'node:path';

const HERE = import.meta.dirname;
const CHECKOUT = join(HERE, '../..');
export const MODEL = 'mock/bench';
/** The same provider, speaking Anthropic's API. */
export const AGENT_MODEL = 'claude/bench';

/** Starts a script of this folder that prints its port. */
export async function startScript(name, ...args) {
  const child = spawn(process.execPath, [join(HERE, name), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [port] = await once(child.stdout, 'data');
  return { name: name.replace('.mjs', ''), child, pid: child.pid, port: Number(port), key: 'none' };
}

export async function startNginx(upstreamPort, directory) {
  if (spawnSync('nginx', ['-v']).error) return undefined;
  const port = await freePort();
  const home = join(directory, 'nginx');
  mkdirSync(home);
  writeFileSync(
    join(home, 'nginx.conf'),
    `daemon off; master_process off; pid ${home}/pid; error_log stderr error;
    events { worker_connections 1024; }
    http { access_log off; client_body_temp_path ${home}; proxy_temp_path ${home}; fastcgi_temp_path ${home};
      uwsgi_temp_path ${home}; scgi_temp_path ${home}; client_max_body_size 8m; client_body_buffer_size 1m;
      keepalive_requests 100000000;
      upstream provider { server 127.0.0.1:${upstreamPort}; keepalive 256; keepalive_requests 100000000; }
      server { listen 127.0.0.1:${port}; location / { proxy_pass http://provider; proxy_http_version 1.1;
        proxy_set_header Connection ""; proxy_buffering off; } } }`,
  );
  const child = spawn('nginx', ['-p', home, '-c', join(home, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await listening(port);
  return { name: 'nginx', child, pid: child.pid, port, key: 'none' };
}

/** GoModel with usage, budgets and logs, as gw has them; its circuit breaker is off, which the end of a load test opens. */
export async function startGoModel(upstreamPort, directory) {
  if (spawnSync('gomodel', ['-version']).error) return undefined;
  const port = await freePort();
  const cwd = join(directory, 'gomodel');
  mkdirSync(cwd);
  const key = 'bench';
  const env = {
    ...{ PATH: process.env.PATH, HOME: directory, PORT: String(port), GOMODEL_MASTER_KEY: key },
    ...{ OPENAI_API_KEY: 'provider-key', OPENAI_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1` },
    ...{ USAGE_ENABLED: 'true', BUDGETS_ENABLED: 'true', LOGGING_ENABLED: 'true', LOG_LEVEL: 'error' },
    ...{ RETRY_MAX_RETRIES: '0', CIRCUIT_BREAKER_FAILURE_THRESHOLD: '1000000000' },
  };
  const child = spawn('gomodel', [], { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] });
  await listening(port);
  return { name: 'gomodel', child, pid: child.pid, port, key, model: 'bench' };
}

/**
 * A daemon of a checkout that is built, with a key, a budget, a price and the default settings. `run` runs a command on it.
 */
export async function startGw(upstreamPort, directory, { name = 'gw', checkout = CHECKOUT } = {}) {
  const port = await freePort();
  const gw = join(checkout, 'bin/gw');
  const env = {
    PATH: process.env.PATH,
    HOME: directory,
    GW_HOME: join(directory, name),
    GW_PORT: String(port),
  };
  const run = (args, input = '') => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [gw, ...args], {
      env,
      input,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`gw ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  const baseUrl = `http://127.0.0.1:${upstreamPort}/v1`;
  run(['providers', 'add', 'mock', '--base-url', baseUrl, '--stdin'], 'provider-key');
  run(
    ['providers', 'add', 'claude', '--base-url', baseUrl, '--wire', 'anthropic', '--stdin'],
    'provider-key',
  );
  for (const model of [MODEL, AGENT_MODEL]) run(['prices', 'set', model, '--input', '1', '--output', '2']);
  run(['budget', 'set', '1000000']);
  const { key } = JSON.parse(run(['keys', 'create', '--json']));
  const target = { name, gw, port, key, home: env.GW_HOME, env };
  const child = await serve(target);
  return { ...target, child, pid: child.pid, run };
}

/** Starts the daemon of a home, and waits until it listens. */
export async function serve({ gw, env, port }) {
  const child = spawn(process.execPath, [gw, 'serve'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.on('data', (text) => {
    log += text;
  });
  child.once('exit', (code) => {
    if (code) console.error(log);
  });
  await listening(port);
  return child;
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function listening(port) {
  for (let tries = 0; tries < 200; tries++) {
    const socket = createConnection(port, '127.0.0.1');
    const isOpen = await new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing listens on port ${port}`);
}
