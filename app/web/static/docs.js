"use strict";
// The API reference: Swagger UI, which takes the place of the plain list that the server sends.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", follow);
  follow();
  const box = document.getElementById("reference");
  if (!box || typeof SwaggerUIBundle === "undefined") return;
  SwaggerUIBundle({
    url: box.dataset.document,
    domNode: box,
    deepLinking: true,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    tryItOutEnabled: true,
    persistAuthorization: false,
    validatorUrl: null,
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
  });
})();
