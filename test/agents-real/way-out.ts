import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A server that refuses and records whatever reaches it. */
export interface WayOut {
  url: string;
  /** Hosts and paths that were asked for: `CONNECT api.openai.com:443`, `POST /v1/responses`. */
  seen: string[];
}

/** Starts one, as the proxy to all other machines or as the address in a conflicting setting. */
export async function startWayOut(): Promise<WayOut> {
  const seen: string[] = [];
  const server: Server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    response.writeHead(502).end();
  });
  server.on('connect', (request, socket) => {
    seen.push(`CONNECT ${request.url}`);
    // The client hangs up on the refusal.
    socket.on('error', () => {});
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}
