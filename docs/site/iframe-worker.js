// SPDX-License-Identifier: Apache-2.0
// The search of the site runs in a worker, and browsers start none for a page that is opened from a folder. There a hidden
// frame takes the worker's place. Named in mkdocs.yml.

if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = []; // messages until the script has run
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.addEventListener("load", () => this.run(frame.contentWindow, new URL(url, location)), { once: true });
      (document.body || document.documentElement).append(frame);
    }

    run(inner, url) {
      inner.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      const script = inner.document.createElement("script");
      script.src = url;
      script.onload = () => {
        this.inner = inner;
        for (const data of this.waiting) this.postMessage(data);
      };
      inner.document.body.append(script);
    }

    postMessage(data) {
      if (this.inner) this.inner.dispatchEvent(new MessageEvent("message", { data }));
      else this.waiting.push(data);
    }

    terminate() {}
  };
}
