/** Which agent sends a request, and in which of its sessions. A field is empty where that is unknown. */
export interface ClientSession {
  /** The agent's own id of the session: at most 128 printable characters of ASCII. */
  sessionId: string;
  /** The agent's name as in `gw connect`. */
  agent: string;
  agentVersion: string;
}
