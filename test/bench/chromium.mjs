// Chromium over the pipe of its protocol, with as few of its domains as can be: the one of the network, which drivers of
// browsers switch on, slows scripts down. https://chromedevtools.github.io/devtools-protocol/
import { spawn } from 'node:child_process';
import { join } from 'node:path';

const CHROMIUM = process.env.GW_TEST_CHROMIUM ?? '/usr/bin/chromium';

export function startChromium(directory) {
  // Containers have neither the sandbox's namespaces nor much shared memory.
  const flags = ['--headless=new', '--no-sandbox', '--disable-dev-shm-usage', '--no-first-run'];
  const profile = `--user-data-dir=${join(directory, 'chromium')}`;
  const child = spawn(CHROMIUM, [...flags, profile, '--remote-debugging-pipe'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const [, , , input, output] = child.stdio;
  const calls = new Map();
  let received = '';
  output.setEncoding('utf8').on('data', (text) => {
    const messages = (received + text).split('\0');
    received = messages.pop();
    for (const { id, result, error } of messages.map(JSON.parse)) {
      if (error) calls.get(id)?.reject(new Error(error.message));
      else calls.get(id)?.resolve(result);
      calls.delete(id);
    }
  });
  let last = 0;
  const send = (method, params = {}, sessionId = undefined) =>
    new Promise((resolve, reject) => {
      calls.set(++last, { resolve, reject });
      input.write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`);
    });

  /** A tab, in which `script` runs before those of each document. */
  async function openTab(browserContextId, script) {
    const { targetId } = await send('Target.createTarget', { url: 'about:blank', browserContextId });
    const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
    const ask = (method, params) => send(method, params, sessionId);
    await ask('Page.enable');
    await ask('Page.addScriptToEvaluateOnNewDocument', { source: script });
    return {
      go: (url) => ask('Page.navigate', { url }),
      /** The value of an expression, or what its promise resolves to. */
      async evaluate(expression) {
        const given = { expression, awaitPromise: true, returnByValue: true };
        const { result, exceptionDetails } = await ask('Runtime.evaluate', given);
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description);
        return result.value;
      },
      close: () => send('Target.closeTarget', { targetId }),
    };
  }

  return {
    /** Windows that share nothing with others: neither cookies nor files that were read. */
    async newContext() {
      const { browserContextId } = await send('Target.createBrowserContext');
      return {
        openTab: (script = '') => openTab(browserContextId, script),
        setCookies: (cookies) => send('Storage.setCookies', { cookies, browserContextId }),
        close: () => send('Target.disposeBrowserContext', { browserContextId }),
      };
    },
    async close() {
      await send('Browser.close').catch(() => {});
      if (child.exitCode === null) await new Promise((resolve) => child.once('exit', resolve));
    },
  };
}
