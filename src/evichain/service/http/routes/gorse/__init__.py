"""Routes compatible with clients of gorse, another recommender.

Feedback is a rating here. Labels, categories, types of feedback and users without ratings are
accepted and not stored; the comment of an item is its title.
"""

from fastapi import APIRouter

from evichain.service.http.routes.gorse import entities, feedback, health, lists
from evichain.service.http.service import Service


def router(service: Service) -> APIRouter:
    """All of them, under /api."""
    routes = APIRouter(tags=["gorse"])
    for group in (feedback, entities, lists, health):
        routes.include_router(group.router(service))
    return routes


__all__ = ["router"]
